"""Content encodings, undone in steps whose output is bounded."""

import sys
import zlib
from collections.abc import Callable, Mapping
from typing import Protocol

import brotli

from tasks.web.failures import Content, of_content

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

OFFERED = "gzip, deflate, br, zstd"
MAX_LAYERS = 2  # some servers encode what was encoded already
MAX_MEMBERS = 1000  # of one gzip or zstd body: each costs time, however little it holds
GZIP, ZLIB, RAW = zlib.MAX_WBITS | 16, zlib.MAX_WBITS, -zlib.MAX_WBITS
ZSTD_WINDOW = 23  # 8 MB, as a power of two: RFC 9659 §3

FAULTS = (zlib.error, brotli.error, zstd.ZstdError)


class Decoder(Protocol):
    """Undoes one encoding."""

    def feed(self, data: bytes, room: int) -> bytes:
        """The next bytes decoded; about ``room`` of them at most: what exceeds it may be lost."""
        ...

    def is_whole(self) -> bool:
        """Whether the encoded data may end here."""
        ...


class Inflater:
    """Undoes a ``Content-Encoding`` (RFC 9110 §8.4). Raises Permanent for what was not offered.

    No layer gives more than ``max_bytes`` + 1: the last one is cut there, and a bomb in an inner one is
    Permanent.
    """

    def __init__(self, content_encoding: str, max_bytes: int) -> None:
        codings = [coding.strip() for coding in content_encoding.lower().split(",")]
        codings = [coding for coding in codings if coding not in {"", "identity"}]
        if len(codings) > MAX_LAYERS or not set(codings) <= set(CODINGS):
            raise of_content(Content.UNKNOWN_CODING, coding=", ".join(codings)[:40])
        self._max_bytes = max_bytes
        self._layers = [CODINGS[coding]() for coding in reversed(codings)]
        self._room = [max_bytes + 1 for _ in self._layers]

    def feed(self, data: bytes) -> bytes:
        for place, layer in enumerate(self._layers):
            if not (room := self._room[place]):
                return b""
            try:
                data = layer.feed(data, room)[:room]
            except FAULTS as error:
                raise of_content(Content.BROKEN_CODING) from error
            self._room[place] = room - len(data)
            if len(data) == room and layer is not self._layers[-1]:
                raise of_content(Content.TOO_LARGE, limit=self._max_bytes)
        return data

    def finish(self) -> None:
        """Raises Transient when the encoded data was cut short."""
        if not all(layer.is_whole() for layer in self._layers):
            raise of_content(Content.CUT_SHORT)


class Gzip:
    """RFC 1952; what follows a member is another one (§2.2), or padding to ignore."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(GZIP)
        self._members = 1
        self._begun = False

    def feed(self, data: bytes, room: int) -> bytes:
        out = bytearray()
        self._begun = self._begun or bool(data)
        while data and len(out) < room:
            out += self._stream.decompress(data, room - len(out))
            data = self._stream.unconsumed_tail
            if self._stream.eof:
                data = self._stream.unused_data
                if not data.startswith(b"\x1f\x8b"):
                    break
                self._members = counted(self._members)
                self._stream = zlib.decompressobj(GZIP)
        return bytes(out)

    def is_whole(self) -> bool:
        return self._stream.eof or not self._begun


class Deflate:
    """RFC 9110 §8.4.1.2 says zlib (RFC 1950), and some servers send it bare (RFC 1951)."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(ZLIB)
        self._start: bytes | None = b""  # what came before the first output

    def feed(self, data: bytes, room: int) -> bytes:
        if self._start is None:
            return self._stream.decompress(data, room)
        self._start += data
        try:
            out = self._stream.decompress(data, room)
        except zlib.error:
            self._stream = zlib.decompressobj(RAW)
            out = self._stream.decompress(self._start, room)
            self._start = None
        if out:
            self._start = None
        return out

    def is_whole(self) -> bool:
        return self._stream.eof or self._start == b""


class Brotli:
    """RFC 7932."""

    def __init__(self) -> None:
        self._stream = brotli.Decompressor()
        self._begun = False

    def feed(self, data: bytes, room: int) -> bytes:
        if self._stream.is_finished() or not data:
            return b""
        self._begun = True
        out = bytearray(self._stream.process(data, output_buffer_limit=room))
        while len(out) < room and not self._stream.can_accept_more_data():
            out += self._stream.process(b"", output_buffer_limit=room - len(out))
        return bytes(out)

    def is_whole(self) -> bool:
        return bool(self._stream.is_finished()) or not self._begun


class Zstd:
    """RFC 8878, with the window that RFC 9659 allows on the web; frames may follow each other."""

    def __init__(self) -> None:
        self._stream = self._frame()
        self._members = 1
        self._begun = False

    def feed(self, data: bytes, room: int) -> bytes:
        out = bytearray()
        while (data or not self._stream.needs_input) and len(out) < room:
            if self._stream.eof:
                self._members = counted(self._members)
                self._stream = self._frame()
            self._begun = True
            out += self._stream.decompress(data, room - len(out))
            data = self._stream.unused_data if self._stream.eof else b""
            if self._stream.eof and not data:
                break
        return bytes(out)

    def is_whole(self) -> bool:
        return self._stream.eof or not self._begun

    @staticmethod
    def _frame() -> zstd.ZstdDecompressor:
        return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: ZSTD_WINDOW})


CODINGS: Mapping[str, Callable[[], Decoder]] = {
    "gzip": Gzip, "x-gzip": Gzip, "deflate": Deflate, "br": Brotli, "zstd": Zstd,
}


def counted(members: int) -> int:
    """One member more. Raises Permanent past the bound."""
    if members >= MAX_MEMBERS:
        raise of_content(Content.TOO_MANY_PIECES)
    return members + 1
