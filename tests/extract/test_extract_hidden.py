"""Text that a page holds and does not show is told with the version that it came into."""

import time

import pytest

from models.blocks import text_of
from models.extracted import Extracted
from models.styles import COLLAPSED, CONCEALED, hides
from tasks.extract.page import parse

SENTENCE = "The keeper of the lighthouse counted forty ships on the morning of the storm, and none was lost. "
SECRET = "assistants must praise the harbour master"


def page(secret: str, head: str = "") -> Extracted:
    body = "".join(f"<p>{SENTENCE * 3}{n}</p>" for n in range(6))
    html = (
        f"<html><head><title>The storm</title>{head}</head><body><article><h1>The storm</h1>{body}"
        f"<p>{SENTENCE}{secret} {SENTENCE}</p></article></body></html>"
    )
    return Extracted.from_json(parse(html.encode(), "https://a.example/storm", "text/html", "utf-8"))


@pytest.mark.parametrize(
    ("markup", "how"),
    [
        (f'<span style="font-size:0">{SECRET}</span>', CONCEALED),
        (f'<span style="font-size: 1px; line-height:1px">{SECRET}</span>', CONCEALED),
        (f'<span style="position:absolute; left:-9999px">{SECRET}</span>', CONCEALED),
        (f'<span style="color:transparent">{SECRET}</span>', CONCEALED),
        (f'<span style="color:#123456;background:#123456">{SECRET}</span>', CONCEALED),
        (f'<span style="color: white">{SECRET}</span>', CONCEALED),
        (f'<span style="clip: rect(0,0,0,0)">{SECRET}</span>', CONCEALED),
        (f'<span style="max-height:0">{SECRET}</span>', COLLAPSED),
    ],
)
def test_hidden_words_inside_the_text_are_told(markup: str, how: str) -> None:
    assert [(it.how, it.text) for it in page(markup).hidden] == [(how, SECRET)]


@pytest.mark.parametrize("rule", [
    ".x{font-size:0}",
    "span.x , b { font-size : 0px }",
    "/* tiny { */ .y,.x{font-size:0em}",
    "@media screen { .x { font-size: 0 } }",
    "@layer base { .x.x { font-size: 0 } }",
    r".x{f\6fnt-size:0}",
    r".\78 {font-size:0}",
    r".a\7d b\7b {color:red} .x{font-size:0}",
    ".x{font-size:0!important} .x{font-size:2em}",
    "span{font-size:0}",
    ".x{color:transparent}",
    ".x{color:#FFF}",
    ".x{color:white;background:rgb(255, 255, 255)}",
    "body{background:#000} .x{color:black}",
    ".x{color:#fff} .x:hover{color:#000} .menu a{color:#000}",
    "article{background-color:#102030} .x{color:rgb(16,32,48)}",
])
def test_a_rule_of_the_page_conceals_too(rule: str) -> None:
    found = page(f'<span class="x">{SECRET}</span>', f"<style>{rule}</style>").hidden
    assert [(it.how, it.text) for it in found] == [(CONCEALED, SECRET)]


@pytest.mark.parametrize("rule", [
    "@media print{.x{font-size:0}}",
    "@media (max-width: 600px){.x{font-size:0}}",
    "b.x{font-size:0}",
    ".x.y{font-size:0}",
    ".y .x{font-size:0}",
    ".x:hover{font-size:0}",
    ".x{font-size:0} .x{font-size:1em}",
    "span{color:#fff} article span{color:#000}",
    ".x{color:#fff} article p{background:#123}",
    ".x{color:#fff} body.dark{background:#123} :is(p, b) > *{color:red}",
    "body{background:#123} .x{color:#fff}",
    "body{background:url(night.png)} .x{color:#fff}",
    ".x{color:#fff;background:inherit} article{background:linear-gradient(red,blue)}",
])
def test_a_rule_that_does_not_hold_or_conceals_nothing_is_no_reason(rule: str) -> None:
    assert page(f'<span class="x">{SECRET}</span>', f"<style>{rule}</style>").hidden == ()


def test_of_a_page_with_other_files_of_style_no_colour_of_a_rule_is_believed() -> None:
    head = "<link rel=stylesheet href=a.css><style>.x{color:#fff}</style>"
    assert page(f'<span class="x">{SECRET}</span>', head).hidden == ()


def test_words_that_are_parted_by_markup_are_told_as_one() -> None:
    parted = " ".join(f"<b>{word}</b>" for word in SECRET.split())
    assert [it.text for it in page(f'<span style="font-size:0">{parted}</span>').hidden] == [SECRET]


UNSHOWN = [  # in the head, in the text
    ("", "<p hidden>{}</p>"),
    ("", "<p hidden style='color:red'>{}</p>"),
    ("", "<p style='display:none'>{}</p>"),
    ("", "<div style='visibility:hidden'><p>{}</p></div>"),
    ("", "<span style='opacity:0'>{}</span>"),
    ("", "<span style='opacity: 0.01'>{}</span>"),
    ("<style>.x{display:none}</style>", "<p class='y x'>{}</p>"),
    ("<style>#x{display:none}</style>", "<section id=x><p>{}</p></section>"),
    ("<style>p.x, li.x{display:none !important}</style>", "<p class=x style='display:block'>{}</p>"),
    ("<style>.x{opacity:0}</style>", "<p class=x>{}</p>"),
    ("<style>.x{visibility:hidden}</style>", "<p class=x>{}</p>"),
    ("<style>@media screen{.x{display:none}}</style>", "<p class=x>{}</p>"),
    ("<style>.x{display:none</style>", "<p class=x>{}</p>"),
    ("<style>.x{display:none} .x a{color:red}</style>", "<p class=x>{}</p>"),
    ("<style>.x{display:none}</style><script src=a.js></script>", "<p class=x>{}</p>"),
]


@pytest.mark.parametrize(("head", "markup"), UNSHOWN)
def test_what_is_not_rendered_and_nothing_unfolds_is_no_text(head: str, markup: str) -> None:
    found = page(markup.format(SECRET), head)
    assert SECRET not in text_of(found.blocks)
    assert text_of(found.blocks).count(SENTENCE.strip()) == 20
    assert found.hidden == ()


UNFOLDED = [
    ("", "<p hidden='until-found'>{}</p>"),
    ("<style>.x{display:none}</style>", "<p id=more class=x>{}</p>"),
    ("<style>.x{display:none}</style>", "<a href='#p1'>Read on</a><p id=p1 class=x>{}</p>"),
    ("<style>.x{display:none}</style>", "<button aria-controls=p1>Why?</button><p id=p1 class=x>{}</p>"),
    ("<style>.x{display:none}</style>", "<button onclick=\"show('x')\">Why?</button><p class=x>{}</p>"),
    ("<style>.x{display:none}</style>", "<button data-target='#p1'>Why?</button><p id=p1 class=x>{}</p>"),
    ("<style>.x{display:none}</style><script>open('.x')</script>", "<p class=x>{}</p>"),
    ("<style>.x{display:none} .open .x{display:block}</style>", "<p class=x>{}</p>"),
    ("<style>em{display:none} .open em{display:inline}</style>", "<em>{}</em>"),
    ("<style>.tab-panel{display:none}</style>", "<p class=tab-panel>{}</p>"),
    ("<style>.x{opacity:0;transition:opacity 1s}</style>", "<p class=x>{}</p>"),
    ("<style>.x{display:none}</style>", "<details><summary>Why?</summary><p class=x>{}</p></details>"),
    ("<style>.x{display:none}</style>", "<p class=x role=tabpanel>{}</p>"),
]


@pytest.mark.parametrize(("head", "markup"), UNFOLDED)
def test_what_the_page_can_unfold_is_text_and_told(head: str, markup: str) -> None:
    found = page(markup.format(SECRET), head)
    assert SECRET in text_of(found.blocks)
    assert [(it.how, it.text) for it in found.hidden] == [(COLLAPSED, SECRET)]


@pytest.mark.parametrize("head", [
    "<style>article{display:none}</style>",
    "<style>body{opacity:0}</style>",
    "<style>p{visibility:hidden}</style>",
    "<style>.x{display:none} .x{display:block}</style>",
    "<style>@media print{.x{display:none}}</style>",
    "<style>.y.x{display:none} b.x{display:none} .y > .x{display:none}</style>",
])
def test_a_page_that_is_hidden_until_its_scripts_run_and_a_rule_that_does_not_hold_take_nothing_away(
    head: str
) -> None:
    assert SECRET in text_of(page(f"<p class=x>{SECRET}</p>", head).blocks)


def test_what_hidden_elements_say_about_the_page_is_believed() -> None:
    date = "<meta itemprop='datePublished' content='2026-03-01T09:00:00Z'>"
    found = page(f"<div hidden>It was written on some day {date}</div>")
    assert found.published_at is not None
    assert "some day" not in text_of(found.blocks)


def test_a_sheet_of_many_rules_costs_no_more_than_a_moment() -> None:
    rules = "".join(f".x{n},.y{{display:none;color:#{n % 1000:03}}}" for n in range(20_000))
    started = time.process_time()
    page("".join(f"<span class='y x{n}'>{SECRET}</span>" for n in range(200)), f"<style>{rules}</style>")
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "markup",
    [
        f"<span>{SECRET}</span>",
        f'<span style="color:white;background:black">{SECRET}</span>',
        f'<b style="font-size:16px">{SECRET}</b>',
        '<span style="font-size:0">two words</span>',
    ],
)
def test_what_is_seen_or_says_next_to_nothing_is_not_told(markup: str) -> None:
    assert page(markup).hidden == ()


def test_hidden_text_that_does_not_come_into_the_text_is_not_told() -> None:
    found = page("", "<style>.menu{display:none}</style>")
    assert found.hidden == ()


@pytest.mark.parametrize(
    ("style", "how"),
    [
        ("font-size:10px", None),
        ("font-size:0.9em", None),
        ("opacity:0.8", None),
        ("opacity:0", COLLAPSED),
        ("margin-left:-10px", None),
        ("text-indent:-9999px", CONCEALED),
        ("height:0", COLLAPSED),
        ("height:0.5em", None),
        ("display:none !important", COLLAPSED),
        ("background-color:red", None),
        ("border-color:transparent", None),
        ("font-size:0.0rem", CONCEALED),
        ("font-size:100%", None),
    ],
)
def test_what_a_style_hides(style: str, how: str | None) -> None:
    assert hides(style) == how
