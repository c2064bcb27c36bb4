"""The converter that is built in: each type of file has its parser in the jail."""

from dataclasses import asdict

from models.extracted import Extracted
from tasks.ports import Converter, Original, Parser

READ_HERE = ("text/html", "application/xhtml+xml", "text/plain", "text/markdown", "text/x-markdown")


class Jailed:
    """Implements ``ports.Converter`` over the parser ``file`` of a jail, which opens the file itself."""

    def __init__(self, parser: Parser) -> None:
        self._parser = parser

    async def convert(self, original: Original) -> Extracted:
        context = asdict(original) | {"path": str(original.path)}
        return Extracted.from_json(await self._parser.parse("file", b"", context))


class Either:
    """Implements ``ports.Converter``: a server for all but plain texts, which need none."""

    def __init__(self, here: Converter, server: Converter) -> None:
        self._here, self._server = here, server

    async def convert(self, original: Original) -> Extracted:
        chosen = self._here if original.media_type in READ_HERE else self._server
        return await chosen.convert(original)
