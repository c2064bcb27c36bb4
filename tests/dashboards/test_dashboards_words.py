"""Foreign words are shown as text: no markup, no picture, nothing that leaves its place."""

import ast
import sys
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from stand_in import (
    Api,
    Open,
    Read,
    Words,
    came,
    citation,
    excerpt,
    known,
    life,
    passed_over,
    placed,
    poll,
    retrieval,
    rising,
    source,
    told_of,
)

import dashboards
from dashboards import record
from dashboards.excerpt import marked
from dashboards.words import day, markup, text

FILES = sorted(Path(dashboards.__file__).parent.glob("*.py"))
OURS = {"a", "article", "b", "bdi", "code", "dd", "details", "div", "dl", "dt", "figure", "h2", "header", "i",
        "li", "mark", "ol", "p", "section", "small", "span", "summary", "table", "tbody", "td", "th", "thead",
        "tr", "ul"}
MARKDOWN = {"badge", "caption", "error", "exception", "header", "image", "info", "markdown", "subheader",
            "success", "toast", "warning", "write", "write_stream"}

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=http://evil.example/p.png onerror=alert(1)>",
    "![a picture](http://evil.example/p.png)",
    "</div></article><iframe src='http://evil.example'></iframe>",
    "\"><a href='http://evil.example'>here</a>",
    "{0} {title} {0.__class__} %s $HOME",
    "&lt;b&gt; &amp;amp; &#x3c;",
    ":material/home: :red[x] $x^2$ `code`",
    "w" * 5_000,
]


def test_whatever_a_page_says_is_shown_word_for_word(api: Api, opened: Open, words: Read) -> None:
    api.finds(*(excerpt(f"K{n}", said, headings=(said,), title=said, source=said, author=said, url=said)
                for n, said in enumerate(HOSTILE)))
    shown = words(opened("search.py", q="lifts"))
    assert [said for said in HOSTILE if shown.text.count(said) < 5] == []
    assert shown.elements <= OURS
    assert shown.links == []


@pytest.mark.parametrize("said", HOSTILE)
def test_a_record_shows_it_word_for_word(said: str) -> None:
    shown = Words(record.described(citation(
        before=said, text=said, after=said, title=said, source=said, author=said, url=said)))
    assert shown.marked == said
    assert shown.text.count(said) == 7
    assert shown.elements <= OURS
    assert shown.links == []


def test_whatever_a_source_is_called_is_shown_word_for_word(api: Api, opened: Open, words: Read) -> None:
    api.lists(*(source(said, kind=said, url=said, failures=2, last_poll=poll(said, said), documents={said: 1})
                for said in HOSTILE))
    shown = words(opened("sources.py"))
    assert [said for said in HOSTILE if shown.text.count(said) < 3] == []
    assert shown.elements <= OURS
    assert all(link.startswith(("/sources?id=", "/documents?source=")) for link in shown.links)


def test_whatever_came_today_is_called_is_shown_word_for_word(api: Api, opened: Open, words: Read) -> None:
    def all_of(told: Any) -> dict[str, Any]:
        """The lists of each hostile one as one list."""
        each = [told(said, said, said) for said in HOSTILE]
        return each[0] | {name: [it for one in each for it in one[name]]
                          for name, value in each[0].items() if isinstance(value, list) and name != "steps"}

    api.tells(all_of(came), all_of(told_of), rising(*HOSTILE))
    shown = words(opened("today.py"))
    assert [said for said in HOSTILE if shown.text.count(said) < 10] == []
    assert shown.elements <= OURS
    assert {link[:1] for link in shown.links} == {"/"}


def test_whatever_ages_is_shown_word_for_word(api: Api, opened: Open, words: Read) -> None:
    api.ages(*(placed(said, said, url=said) for said in HOSTILE))
    shown = words(opened("freshness.py"))
    assert [said for said in HOSTILE if shown.text.count(said) < 2] == []
    assert shown.elements <= OURS
    said = HOSTILE[0]
    one = life()
    api.answers[f"GET /v1/documents/{known('document')}/freshness"] = one | {
        "title": said, "source": said, "asked": [one["asked"][0] | {"query": said}]}
    shown = words(opened("freshness.py", document=str(known("document"))))
    assert shown.text.count(said) == 3
    assert shown.elements <= OURS


def test_what_was_dropped_and_what_a_model_says_is_shown_word_for_word(
    api: Api, opened: Open, words: Read
) -> None:
    every = " | ".join(HOSTILE)
    api.answers["POST /v1/retrieve"] = {"answer": every, "note": every, "model": every} | retrieval(
        excerpt(), dropped=[passed_over("K2", title=said, source=said, url=said) for said in HOSTILE])
    shown = words(opened("search.py", q="lifts"))
    assert [said for said in HOSTILE if shown.text.count(said) < 5] == []
    assert shown.elements <= OURS
    assert shown.links == ["https://tower.example/lifts"]


@pytest.mark.parametrize("matches", [[(0, 3)], [(0, 3), (4, 9)], [(0, 10_000)], []])
def test_marks_break_nothing_of_what_they_mark(matches: list[tuple[int, int]]) -> None:
    for said in HOSTILE:
        shown = Words(marked(said, matches))
        assert shown.text == said
        assert shown.marked == "".join(said[start:end] for start, end in matches)
        assert shown.elements <= {"mark"}


@pytest.mark.parametrize("mark", "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
def test_a_mark_that_turns_what_follows_is_left_out(mark: str) -> None:
    assert text(f"invoice{mark}fdp.exe") == "invoicefdp.exe"


def test_marks_that_writing_needs_stay() -> None:
    needed = "\u200f\N{ARABIC LETTER ALEF}\u200d\u200c\N{ZERO WIDTH JOINER}"
    assert text(needed) == needed


def test_words_are_put_into_a_template_and_never_become_one() -> None:
    assert markup("<b>{}</b>", "{0} <i>") == "<b>{0} &lt;i&gt;</b>"
    assert markup("<b>{}</b>", markup("<i>{}</i>", "&")) == "<b><i>&amp;</i></b>"


@pytest.mark.parametrize(
    ("stamp", "said"),
    [
        (None, "undated"),
        ("2026-03-11T00:00:00+00:00", "11 Mar 2026"),
        ("2026-03-11T00:00:00+02:00", "10 Mar 2026"),
        ("1999-12-31T23:59:59+00:00", "31 Dec 1999"),
    ],
)
def test_a_day_is_told_as_a_day(stamp: str | None, said: str) -> None:
    assert day(stamp) == said


def test_there_is_one_place_where_markup_is_shown_and_none_where_markdown_is() -> None:
    used = {
        (file.name, name.attr)
        for file in FILES
        for name in ast.walk(ast.parse(file.read_text()))
        if isinstance(name, ast.Attribute) and isinstance(name.value, ast.Name) and name.value.id == "st"
    }
    assert {file for file, name in used if name == "html"} == {"words.py", "app.py"}  # the latter: our style
    assert not {name for _, name in used} & MARKDOWN


def test_no_screen_has_the_name_of_a_module_that_is_imported_elsewhere() -> None:
    """Streamlit puts the folder of its entrance first on ``sys.path`` while a screen is shown."""
    taken = sys.stdlib_module_names | set(packages_distributions())
    assert not {file.stem for file in FILES} & taken - {"__init__"}
