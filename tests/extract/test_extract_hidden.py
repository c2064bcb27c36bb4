"""Text that a page holds and does not show is told with the version that it came into."""

import pytest

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
        (f'<span style="opacity:0">{SECRET}</span>', COLLAPSED),
        (f"<span hidden>{SECRET}</span>", COLLAPSED),
    ],
)
def test_hidden_words_inside_the_text_are_told(markup: str, how: str) -> None:
    assert [(it.how, it.text) for it in page(markup).hidden] == [(how, SECRET)]


@pytest.mark.parametrize(
    "rule", [".x{font-size:0}", "span.x , b { font-size : 0px }", "/* tiny */ .y,.x{font-size:0em}"]
)
def test_a_rule_of_the_page_hides_too(rule: str) -> None:
    assert [it.how for it in page(f'<span class="x">{SECRET}</span>', f"<style>{rule}</style>").hidden] == [
        CONCEALED
    ]


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


def test_a_rule_for_print_hides_nothing_on_a_screen() -> None:
    assert (
        page(f'<span class="x">{SECRET}</span>', "<style>@media print{.x{font-size:0}}</style>").hidden == ()
    )


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
