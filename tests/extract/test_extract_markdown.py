"""Markdown becomes the same blocks as a page, with code left as code."""

import pytest

from models.blocks import Block, BlockKind, place
from models.extracted import Extracted
from tasks.errors import Permanent
from tasks.extract.markdown import blocks_of, parse

GUIDE = """\ufeff# Reading *the* gauge

The harbour has [tide tables](https://a.example/t) since **1850**,
and ![a photo](gauge.png) of `the gauge`.
Two blanks are  \na line &amp; <br>no <b>tag</b>.

## Steps

1. Read it
2. Write it down
   - in ink
     1. never on wood

   and sign it

   ```sh
   # not a heading
     make tide
   ```
3. Post it

> Time and tide
>
> ## wait for no one

    # indented code
        x = 1

| Day | Height |
|-----|-------:|
| *Mon* | 3 \\| 4 m |

<p align="center"><img src="x.png"> Some &lt;html&gt;</p>

<script>
alert(1)
</script>

Underlined
----------

***
<!-- hidden -->
"""


LEAD = "The harbour has tide tables since 1850, and a photo of the gauge. Two blanks are\na line & no tag."


def test_structure_is_kept_and_markup_is_not() -> None:
    kind = BlockKind
    assert blocks_of(GUIDE) == (
        Block(kind.HEADING, "Reading the gauge", level=1),
        Block(kind.PARAGRAPH, LEAD),
        Block(kind.HEADING, "Steps", level=2),
        Block(kind.LIST_ITEM, "Read it", level=1, ordered=True),
        Block(kind.LIST_ITEM, "Write it down", level=1, ordered=True),
        Block(kind.LIST_ITEM, "in ink", level=2),
        Block(kind.LIST_ITEM, "never on wood", level=3, ordered=True),
        Block(kind.PARAGRAPH, "and sign it"),
        Block(kind.CODE, "# not a heading\n  make tide"),
        Block(kind.LIST_ITEM, "Post it", level=1, ordered=True),
        Block(kind.QUOTE, "Time and tide"),
        Block(kind.QUOTE, "wait for no one"),
        Block(kind.CODE, "# indented code\n    x = 1"),
        Block(kind.TABLE, "Day | Height\nMon | 3 | 4 m", header_rows=1),
        Block(kind.PARAGRAPH, "Some <html>"),
        Block(kind.HEADING, "Underlined", level=2),
    )


def test_a_hash_inside_code_never_changes_the_heading_path() -> None:
    markdown = "\ufeff# Title\n\n```python\n# comment\n```\n\n~~~\n## also none\n~~~\n\nLast words."
    assert [placed.headings for placed in place(blocks_of(markdown))] == [("Title",)] * 4


@pytest.mark.parametrize(("markdown", "texts"), [
    ("# One\n## Two\n", ["One", "Two"]),
    ("---\ntitle: x\ntags: [a]\n---\n# One\n", ["One"]),
    ("---\n\nA rule is no front matter.\n", ["A rule is no front matter."]),
    ("One\r\n\r\nTwo\r\n", ["One", "Two"]),
    ("-\n\ntext after an empty item", ["text after an empty item"]),
    ("- - nested at once", ["nested at once"]),
    ("Set\0 NUL \x07bell", ["Set NUL bell"]),
    ("```\n```\n", []),
    ("", []),
])
def test_a_block_that_says_nothing_is_none(markdown: str, texts: list[str]) -> None:
    assert [block.text for block in blocks_of(markdown)] == texts


def test_a_page_of_markdown_is_titled_by_its_first_heading_of_level_one() -> None:
    body = "## Before\n\n# Café\n\n# Later\n".encode("cp1252")
    found = Extracted.from_json(parse(body, "https://a.example/x.md", "text/markdown", "utf-8"))
    assert (found.title, found.extractor, len(found.blocks)) == ("Café", "markdown", 3)


@pytest.mark.parametrize(("body", "reason"), [
    (b"<!-- nothing -->", "there is nothing to read in the file"),
    (b"word " * 700_000, "the file has more than 3,000,000 characters"),
])
def test_a_file_with_nothing_or_too_much_to_read_is_refused(body: bytes, reason: str) -> None:
    with pytest.raises(Permanent) as refused:
        parse(body, "https://a.example/x.md", "text/markdown", None)
    assert refused.value.reason == reason
