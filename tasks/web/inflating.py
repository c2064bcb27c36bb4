"""Content encodings, undone in steps whose output is bounded."""

import zlib

from tasks.errors import Permanent, Transient

OFFERED = "gzip, deflate"  # only what zlib can stop in the middle of
MAX_MEMBERS = 1000  # of one gzip body: each costs time, however little it holds
GZIP, ZLIB, RAW = zlib.MAX_WBITS | 16, zlib.MAX_WBITS, -zlib.MAX_WBITS


class Inflater:
    """Undoes one ``Content-Encoding`` (RFC 9110 §8.4.1). Raises Permanent for one that was not offered."""

    def __init__(self, content_encoding: str) -> None:
        coding = content_encoding.strip().lower()
        self._gzip = coding in {"gzip", "x-gzip"}
        if coding not in {"", "identity", "gzip", "x-gzip", "deflate"}:
            raise Permanent(f"the answer is encoded as {coding[:40]}, which was not offered")
        plain = coding in {"", "identity"}
        self._stream = None if plain else zlib.decompressobj(GZIP if self._gzip else ZLIB)
        self._members = 1
        self._start: bytes | None = b""  # what came before the first output: "deflate" comes in two forms

    def feed(self, data: bytes, room: int) -> bytes:
        """The next bytes inflated, at most ``room`` of them: what exceeds it is lost."""
        if self._stream is None:
            return data[:room]
        try:
            return self._inflate(data, room)
        except zlib.error as error:
            if self._gzip or self._start is None:
                raise Permanent("the answer is not in the content encoding that it declares") from error
        data, self._start, self._stream = self._start + data, None, zlib.decompressobj(RAW)
        return self.feed(data, room)

    def finish(self) -> None:
        """Raises Transient when the encoded data was cut short."""
        if self._stream and not self._stream.eof and self._start != b"":
            raise Transient("the answer broke off before its end")

    def _inflate(self, data: bytes, room: int) -> bytes:
        out = bytearray()
        rest = data
        while rest and len(out) < room and self._stream:
            out += self._stream.decompress(rest, room - len(out))
            rest = self._stream.unconsumed_tail
            if self._stream.eof:
                rest = self._next_member()
        if self._start is not None:
            self._start = None if out else self._start + data
        return bytes(out)

    def _next_member(self) -> bytes:
        """What follows a finished stream: another gzip member (RFC 1952 §2.2), or padding to ignore."""
        rest = self._stream.unused_data if self._stream else b""
        if not self._gzip or not rest.startswith(b"\x1f\x8b"):
            return b""
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise Permanent("the answer is in too many pieces")
        self._stream = zlib.decompressobj(GZIP)
        return rest
