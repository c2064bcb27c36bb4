"""Text that one extractor alone would lose: later bodies, leads, and articles without paragraphs."""

import pytest

from models.blocks import BlockKind
from models.extracted import Extracted
from tasks.extract import page

SENTENCES = [f"On day {number} the harbour master read the gauge at the pier before the sun was up."
             for number in range(9)]
PARAGRAPHS = [f"<p>{sentence}</p>" for sentence in SENTENCES]
OFFER = "<div class='offer'>Get the paper</div>"


def read(body: str) -> Extracted:
    html = f"<html><head><title>The gauge</title></head><body>{body}</body></html>"
    return Extracted.from_json(page.parse(html.encode(), "https://post.example/gauge", "text/html", "utf-8"))


def said(body: str) -> list[str]:
    return [block.text for block in read(body).blocks if block.kind is not BlockKind.HEADING]


def bodies(*parts: list[str], box: str = "<div class='article-body'>{}</div>") -> str:
    return OFFER.join(box.format("".join(part)) for part in parts)


@pytest.mark.parametrize("box", [
    "<div class='article-body'>{}</div>", "<section itemprop='articleBody'>{}</section>",
    "<div class='row'><div class='entry-content'>{}</div></div>",
])
def test_an_article_in_several_boxes_alike_is_read_whole_and_in_order(box: str) -> None:
    parts = bodies(PARAGRAPHS[:2], PARAGRAPHS[2:5], PARAGRAPHS[5:], box=box)
    assert said(f"<h1>The gauge</h1><div>{parts}</div>") == SENTENCES


def test_headings_and_lists_of_a_later_box_are_kept() -> None:
    later = ["<h2>After noon</h2>", PARAGRAPHS[4], "<ul><li>in ink</li><li>on paper</li></ul>"]
    blocks = read(f"<h1>The gauge</h1>{bodies(PARAGRAPHS[:4], later)}").blocks
    kinds = [block.kind for block in blocks if block.text != "The gauge"]
    assert kinds == [*[BlockKind.PARAGRAPH] * 4, BlockKind.HEADING, BlockKind.PARAGRAPH,
                     BlockKind.LIST_ITEM, BlockKind.LIST_ITEM]


def test_another_article_on_the_page_is_not_a_later_part_of_this_one() -> None:
    other = ["<h1>Another story</h1>", *PARAGRAPHS[5:]]
    assert said(f"<h1>The gauge</h1>{bodies(PARAGRAPHS[:5], other)}") == SENTENCES[:5]
    articles = bodies(PARAGRAPHS[:5], PARAGRAPHS[5:], box="<article>{}</article>")
    assert said(f"<h1>The gauge</h1>{articles}") == SENTENCES[:5]


@pytest.mark.parametrize("box", [
    "<div class='content'>{}</div>", "<table><tr><td>{}</td></tr></table>", "<center><div>{}</div></center>",
])
@pytest.mark.parametrize("gap", ["<br><br>", "<br>\n<br />", "<br><br><br>"])
def test_text_parted_by_empty_lines_is_paragraphs(box: str, gap: str) -> None:
    found = said(f"<h1>The gauge</h1>{box.format(gap.join(SENTENCES))}")
    assert found == SENTENCES


def test_a_line_break_within_such_a_paragraph_and_its_markup_stay_in_it() -> None:
    text = f"<b>{SENTENCES[0]}</b><br>{SENTENCES[1]}<br><br>{SENTENCES[2]} <a href='/x'>So</a> be it.<br><br>"
    found = said(f"<h1>The gauge</h1><div class='content'>{text}<p>{SENTENCES[3]}</p></div>")
    assert found == [f"{SENTENCES[0]}\n{SENTENCES[1]}", f"{SENTENCES[2]} So be it.", SENTENCES[3]]


def test_a_lead_in_a_box_of_its_own_is_the_first_paragraph() -> None:
    lead = "<div class='summary'>The gauge at the pier is <b>older</b> than the pier, it turns out.</div>"
    found = said(f"<article><h1>The gauge</h1>{lead}<div class='text'>{''.join(PARAGRAPHS)}</div></article>")
    assert found == ["The gauge at the pier is older than the pier, it turns out.", *SENTENCES]


@pytest.mark.parametrize("box", [
    "<div class='byline'>By Ann Tern and the harbour master, of the old pier</div>",
    "<div class='menu'><a href='/a'>All that the harbour master said this week, and more of it.</a></div>",
])
def test_a_byline_or_a_link_is_no_lead(box: str) -> None:
    assert said(f"<article><h1>The gauge</h1>{box}<div>{''.join(PARAGRAPHS)}</div></article>") == SENTENCES
