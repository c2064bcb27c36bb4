"""A page becomes typed blocks and what it says about itself."""

import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from models.blocks import Block, BlockKind, text_of
from models.extracted import Extracted
from tasks.errors import Permanent
from tasks.extract import markup, page
from tasks.extract.jail import Jail

URL = "https://post.example/2026/gauge.html"
ARTICLE = (Path(__file__).parent / "pages" / "article.html").read_bytes()
MAIN = ARTICLE.partition(b"<article>")[2].partition(b"</article>")[0].decode()
FILLER = "<p>The gauge at the pier is read by the harbour master twice a day, and at the old mill too.</p>"


def read(body: str | bytes, media_type: str = "text/html", charset: str | None = "utf-8") -> Extracted:
    body = body.encode() if isinstance(body, str) else body
    return Extracted.from_json(page.parse(body, URL, media_type, charset))


def outline(blocks: tuple[Block, ...]) -> list[str]:
    """One line a block: what it is, then its text."""
    marks: dict[BlockKind, Callable[[Block], str]] = {
        BlockKind.HEADING: lambda block: "#" * block.level,
        BlockKind.PARAGRAPH: lambda block: "p",
        BlockKind.LIST_ITEM: lambda block: "  " * (block.level - 1) + ("1." if block.ordered else "-"),
        BlockKind.QUOTE: lambda block: ">",
        BlockKind.CODE: lambda block: "```",
        BlockKind.TABLE: lambda block: f"table/{block.header_rows}",
    }
    return [f"{marks[block.kind](block)} {block.text}" for block in blocks]


OUTLINE = [
    "# Reading the gauge",
    "p The harbour has kept tide tables since 1850, and prints them each spring for every shipowner.",
    "## What you need",
    "p Run make tide before make chart, then wait.",
    "1. Read the gauge",
    "1. Write it down:",
    "  - in ink",
    "  - on paper",
    "    1. never on wood",
    "p and sign it",
    "1. Post it.",
    "p Keep the receipt.",
    "### The script",
    "``` def tide(hour):\n    if hour:\n        return hour  # <low>\n\ntide(3)",
    "``` one  two\n  three",
    "> Time and tide wait for no one.",
    "> Least of all for the mill.",
    "p Heights in metres",
    "table/1 Day | Height\nMonday | 3 m\nTuesday | 4 m",
    "- Neap",
    "- A weak tide.",
    "p The first line of an address\nand the second one.",
]


def test_structure_is_kept_and_what_is_around_the_article_is_left_out() -> None:
    assert outline(read(ARTICLE).blocks) == OUTLINE


PAGES = Path(__file__).parent / "pages"


@pytest.mark.parametrize("name", sorted(path.stem for path in PAGES.glob("*.outline")))
def test_a_page_is_read_as_its_outline_says(name: str) -> None:
    """A manual, a diary in a layout table, a question with code, a story in parts: each sentence once."""
    blocks = read((PAGES / f"{name}.html").read_bytes()).blocks
    wanted = (PAGES / f"{name}.outline").read_text(encoding="utf-8").splitlines()
    assert [line.replace("\n", "\\n") for line in outline(blocks)] == wanted


def test_a_line_that_only_the_source_breaks_is_one_line() -> None:
    found = read(f"<html><body><article><p>The <i>old</i> gauge\n  at the\npier <b>is</b> red.</p>{FILLER}")
    assert found.blocks[0].text == "The old gauge at the pier is red."


@pytest.mark.parametrize("around", [
    "<body>{}</body>",
    "<body><div class='x'><div>{}</div></div></body>",
    "<body><table><tr><td>{}</td></tr></table></body>",
    "<body><table><tr><td><a href='/'>Home</a><br><a href='/n'>News</a></td><td>{}</td></tr></table></body>",
    "<body><form action='/search'><div>{}</div></form></body>",
])
def test_the_same_article_reads_the_same_wherever_a_layout_puts_it(around: str) -> None:
    assert outline(read(f"<html>{around.format(MAIN)}</html>").blocks) == OUTLINE


def test_a_page_says_what_it_is() -> None:
    found = read(ARTICLE)
    assert found.title == "Reading the gauge"
    assert found.author == "Ann Tern"
    assert found.published_at == datetime(2026, 3, 4, 7, 30, tzinfo=UTC)
    assert found.language == "en"
    assert found.canonical_url == "https://post.example/log/gauge"
    assert found.feeds == ("https://post.example/feed.xml", "https://post.example/log/feed.json")


def test_a_page_that_says_nothing_of_itself_gets_nothing_made_up() -> None:
    found = read(f"<html><body><article>{FILLER}</article><footer>Copyright 2019</footer></body></html>")
    assert (found.title, found.author, found.published_at) == ("", None, None)
    assert (found.modified_at, found.site_name) == (None, None)
    assert (found.canonical_url, found.feeds) == (None, ())


@pytest.mark.parametrize(("head", "title"), [
    ("<meta property='og:title' content='Of the graph'><title>Of the head</title>", "Of the graph"),
    ("<title>Of the head</title>", "Of the page"),
    ("<meta property='og:title' content='A &lt;b&gt;bold&lt;/b&gt; move &amp;amp; on'>", "A bold move & on"),
])
def test_the_title_is_the_one_that_was_made_for_sharing_then_the_heading(head: str, title: str) -> None:
    assert read(f"<html><head>{head}</head><body><h1>Of the page</h1>{FILLER}</body></html>").title == title


@pytest.mark.parametrize(("stated", "instant"), [
    ("2026-03-04", datetime(2026, 3, 4, tzinfo=UTC)),
    ("2026-03-04T23:30:00-05:00", datetime(2026, 3, 5, 4, 30, tzinfo=UTC)),
    ("2026-03-04T10:00:00", datetime(2026, 3, 4, 10, tzinfo=UTC)),
    ("2041-01-01T00:00:00Z", datetime(2041, 1, 1, tzinfo=UTC)),  # ranking clamps what lies ahead
    ("0001-01-01T00:00:00Z", None),
    ("soon", None),
])
def test_a_published_date_is_an_instant_in_utc_or_nothing(stated: str, instant: datetime | None) -> None:
    in_meta = f"<meta property='article:published_time' content='{stated}'>"
    in_script = f'<script type="application/ld+json">{{"datePublished": "{stated}"}}</script>'
    for head in (in_meta, in_script):
        for was, says in (("published", "published_at"), ("modified", "modified_at")):
            head = head.replace("published", was).replace("Published", was.capitalize())
            found = read(f"<html><head>{head}</head><body><article>{FILLER}</article></body></html>")
            assert getattr(found, says) == instant


def test_a_page_names_the_site_it_is_of() -> None:
    head = "<meta property='og:site_name' content='The Harbour  Post'>"
    found = read(f"<html><head>{head}</head><body><article>{FILLER}</article></body></html>")
    assert found.site_name == "The Harbour Post"


@pytest.mark.parametrize(("href", "canonical"), [
    ("/p/1?id=7", "https://post.example/p/1?id=7"),
    ("//www.post.example/p", "https://www.post.example/p"),
    ("ftp://post.example/p", None),
    ("javascript:void(0)", None),
    ("#", None),
    ("http://[broken", None),
])
def test_a_canonical_address_is_absolute_and_of_the_web(href: str, canonical: str | None) -> None:
    found = read(f'<html><head><link rel="Canonical" href="{href}"></head><body>{FILLER}</body></html>')
    assert found.canonical_url == canonical


@pytest.mark.parametrize(("said", "language"), [
    ("Der Pegel an der Mole wird vom Hafenmeister zweimal am Tag abgelesen, auch der an der Mühle.", "de"),
    ("Le maître du port lit la hauteur de l'eau deux fois par jour, et l'écrit dans son grand livre.", "fr"),
    ("Смотритель гавани записывает высоту воды дважды в день, утром и вечером, в большую книгу.", "ru"),
    ("港の管理人は一日に二回、桟橋の水位を読み取り、大きな帳面に書き留めます。" * 2, "ja"),
])
@pytest.mark.parametrize("declared", ["", "en", "de-AT"])
def test_a_language_is_found_from_the_text_whatever_was_declared(
    said: str, language: str, declared: str
) -> None:
    for body, media_type in ((f'<html lang="{declared}"><body><article><p>{said}</p>', "text/html"),
                             (said, "text/plain")):
        assert read(body, media_type).language == language


@pytest.mark.parametrize(("lang", "language"), [
    ("de", "de"), ("pt-BR", "pt"), ("EN_us", "en"), ("gsw", None), ("", None), ("english", None),
])
def test_the_declared_language_stands_where_the_text_is_too_short_to_tell(
    lang: str, language: str | None
) -> None:
    found = read(f'<html lang="{lang}"><body><article><p>OK, 3 m.</p></article></body></html>')
    assert found.language == language


def test_text_is_composed_and_holds_nothing_that_cannot_be_stored() -> None:
    decomposed = unicodedata.normalize("NFD", "Café crème")
    said = f"{decomposed}\0\1\x0b&#x1F;&#xD800;is&#xC; &#x200E;ser\x7fved\u2028he&shy;re\x0call\u3000 \xa0day"
    found = read(f"<html><body><article><p>{said}</p>{FILLER}</article></body></html>")
    assert found.blocks[0].text == "Café crème is \u200eserved here all day"


def test_a_reference_to_a_windows_character_means_what_browsers_show() -> None:
    found = read(f"<html><body><article><p>5&#150;6 &#x80;&#8211; &#99999999; R&amp;D&#0233</p>{FILLER}")
    assert found.blocks[0].text == "5\u20136 \u20ac\u2013 R&D\xe9"


def test_markup_that_is_written_about_stays_and_markup_that_is_used_goes() -> None:
    said = "Use the <b>&lt;dialog&gt;</b> element, <span>not</span> &lt;div&gt;."
    found = read(f"<html><body><article><p>{said}</p>{FILLER}</article></body></html>")
    assert found.blocks[0].text == "Use the <dialog> element, not <div>."


def test_a_row_that_is_no_header_does_not_count_as_one() -> None:
    table = "<table><tr><th>Mon</th><td>3 m</td></tr><tr><th>Tue</th><td>4 m</td></tr></table>"
    found = read(f"<html><body><article>{FILLER}{table}{FILLER}</article></body></html>")
    assert outline(found.blocks)[1] == "table/0 Mon | 3 m\nTue | 4 m"


@pytest.mark.parametrize("body", [
    "<div>" + "<a href='/x'>One of many menus</a> " * 30 + "</div><p>Copyright notice of the Post.</p>",
    "<div id='root'></div><script src='app.js'></script>",
])
def test_when_precision_finds_next_to_nothing_the_balanced_mode_is_heard(body: str) -> None:
    said = "The harbour master has found a new gauge, which measures the tide. " * 20
    data = f'<script type="application/ld+json">{{"@type": "NewsArticle", "articleBody": "{said}"}}</script>'
    found = read(f"<html><head>{data}</head><body>{body}</body></html>")
    assert found.extractor == "trafilatura balanced"
    assert text_of(found.blocks) == said.strip()


def test_what_is_visible_is_the_text_without_data_and_scripts() -> None:
    data = "<script type='application/ld+json'>{}</script><script type='application/ld+json'></script>"
    seen = markup.read(f"<html><body><nav>Menu</nav> {data}<p>Text</p><script>run()</script></body></html>")
    assert seen.visible() == "Menu Text"


def test_plain_text_is_paragraphs_and_its_first_line_the_title() -> None:
    text = "Tide notes\r\n\r\nFirst  line\r\nsecond line\r\n \t\r\nif a < b: <b>kept</b>\r\n"
    found = read(text, "text/plain")
    assert outline(found.blocks) == ["p Tide notes", "p First line\nsecond line", "p if a < b: <b>kept</b>"]
    assert (found.title, found.extractor) == ("Tide notes", "plain")


async def test_an_unchanged_page_gives_the_same_text_in_every_child() -> None:
    jail = Jail({"page": "tasks.extract.page:parse"}, workers=1, documents_per_child=1)
    try:
        context = {"url": URL, "media_type": "text/html", "charset": None}
        answers = [await jail.parse("page", ARTICLE, context) for _ in range(3)]
    finally:
        jail.close()
    assert answers == [page.parse(ARTICLE, URL, "text/html", None)] * 3


@pytest.mark.parametrize(("body", "reason"), [
    ("<div>" * 50_000 + "deep", "the page nests its elements too deep to be read"),
    ("<p>x</p>" * 200_000, "the page has more than 100,000 elements"),
    ("<p>" + "word " * 700_000, "the page has more than 3 MB of markup"),
])
def test_an_absurd_page_is_refused_by_what_is_absurd_about_it(body: str, reason: str) -> None:
    with pytest.raises(Permanent) as refused:
        read(f"<html><body>{body}</body></html>")
    assert refused.value.reason == reason


def test_plain_text_has_a_limit_too() -> None:
    with pytest.raises(Permanent, match="the page has more than 3,000,000 characters"):
        read("word " * 700_000, "text/plain")


def test_scripts_and_styles_do_not_count_as_markup() -> None:
    script = f"<script>{'x = 1;' * 600_000}</script>"
    assert read(f"<html><head>{script}</head><body><article>{FILLER}</article></body></html>").blocks
