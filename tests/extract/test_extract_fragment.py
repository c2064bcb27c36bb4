"""A piece of HTML that is nothing but text becomes blocks, and all of it is kept."""

import pytest

from models.blocks import Block, BlockKind
from models.extracted import Extracted
from tasks.errors import Permanent
from tasks.extract.fragment import parse

H, P, L = BlockKind.HEADING, BlockKind.PARAGRAPH, BlockKind.LIST_ITEM
Q, C, T = BlockKind.QUOTE, BlockKind.CODE, BlockKind.TABLE


def read(html: str) -> Extracted:
    return Extracted.from_json(parse(html.encode(), "https://quay.example/a", "text/html", "utf-8"))


@pytest.mark.parametrize(
    ("html", "blocks"),
    [
        ("<p>One</p><p>Two<br>lines</p>", [Block(P, "One"), Block(P, "Two\nlines")]),
        ("<div>One<div>Two</div>Three</div>", [Block(P, "One"), Block(P, "Two"), Block(P, "Three")]),
        ("<h2>Tides</h2>Caf\u00e9 <code>ebb</code> at nine", [
            Block(H, "Tides", level=2), Block(P, "Caf\u00e9 ebb at nine")]),
        ("<ul><li>Ebb<ol><li>Low</li></ol></li><li><p>Flood</p></li></ul>", [
            Block(L, "Ebb", level=1), Block(L, "Low", level=2, ordered=True), Block(L, "Flood", level=1)]),
        ("<blockquote><p>Mind the tide</p></blockquote>", [Block(Q, "Mind the tide")]),
        ("<div>Run <pre>make up</pre></div>", [Block(P, "Run"), Block(C, "make up")]),
        ("<pre><code>a\n  b</code></pre>", [Block(C, "a\n  b")]),
        ("<table><thead><tr><th>Port</th><th>High</th></tr></thead><tbody><tr><td>Quay</td><td>9</td></tr></tbody>"
         "</table>", [Block(T, "Port | High\nQuay | 9", header_rows=1)]),
    ],
)
def test_structure_becomes_blocks(html: str, blocks: list[Block]) -> None:
    assert list(read(html).blocks) == blocks


def test_it_says_where_it_is_from_and_in_which_language() -> None:
    said = read("<p>The boats stay in the harbour until the storm is over and the harbour master calls.</p>")
    assert (said.extractor, said.language, said.title) == ("feed", "en", "")


@pytest.mark.parametrize("html", ["", "  ", "<p> </p>", "<br>"])
def test_what_says_nothing_is_refused(html: str) -> None:
    with pytest.raises(Permanent, match="nothing to read"):
        read(html)
