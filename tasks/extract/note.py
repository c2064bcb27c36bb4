"""The jailed parser of what is handed in as a text: Markdown, or plain text, which is Markdown too."""

from typing import Any

from models.blocks import BlockKind
from models.extracted import Extracted
from tasks.errors import Permanent
from tasks.extract.language import language_of
from tasks.extract.markdown import blocks_of


def parse(body: bytes, extractor: str = "note") -> dict[str, Any]:
    """``Extracted`` as JSON; the title is the first heading of level 1. Permanent: it says nothing."""
    text = body.decode()
    blocks = blocks_of(text)
    if not blocks:
        raise Permanent("there is nothing to read in the text")
    title = next((block.text for block in blocks if block.kind is BlockKind.HEADING and block.level == 1), "")
    return Extracted(blocks, title, extractor, language=language_of(text)).to_json()
