"""Archives, counted while they are inflated: what lies about its size, or holds more than a scanner sees.

A scanner passes what is larger than its limits without having looked at all of it. So every member is
inflated here, one piece at a time and kept by nobody, and what is nested is looked into in turn.
"""

import bz2
import lzma
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import BinaryIO, Protocol
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, LargeZipFile, ZipFile, ZipInfo

from tasks.errors import Permanent

PIECE = 1 << 18
DEEPEST = 4  # archives within archives
MOST_MEMBERS = 10_000
LOCAL_HEADER = 30  # bytes, before the name
NESTED = (b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0")
OPAQUE = {
    b"7z\xbc\xaf\x27\x1c": "7z", b"Rar!\x1a\x07": "RAR", b"MSCF": "CAB", b"\x28\xb5\x2f\xfd": "zstd",
}
ENCRYPTED = 0x1


class Inflater(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


@dataclass(slots=True)
class Budget:
    """What an archive may still bring, over all that is in it."""

    file: int  # bytes of one member
    total: int
    members: int = MOST_MEMBERS

    def spend(self, count: int, member: int) -> None:
        self.total -= count
        if member > self.file:
            raise Permanent(f"a file in the archive is larger than {self.file:,} bytes, which is more than "
                            "the scanner looks at")
        if self.total < 0:
            raise Permanent("the archive holds more than the scanner looks at")


def check(path: Path, most_file: int, most_total: int) -> None:
    """Raises Permanent, with the reason, for an archive that is not to be trusted; nothing else is one."""
    with path.open("rb") as file:
        look_into(file, Budget(most_file, most_total), 0)


def look_into(file: BinaryIO, budget: Budget, depth: int) -> None:
    head = file.read(8)
    if kind := next((kind for magic, kind in OPAQUE.items() if head.startswith(magic)), None):
        raise Permanent(f"it is a {kind} archive, into which nobody looks here: pack it as zip")
    if not head.startswith(NESTED):
        return
    if depth >= DEEPEST:
        raise Permanent(f"its archives are nested more than {DEEPEST} deep")
    file.seek(0)
    if head.startswith(b"PK"):
        look_into_zip(file, budget, depth)
    else:
        look_into_stream(file, head, budget, depth)


def look_into_zip(file: BinaryIO, budget: Budget, depth: int) -> None:
    try:
        with ZipFile(file) as archive:
            members = archive.infolist()
    except (BadZipFile, LargeZipFile, NotImplementedError, ValueError, EOFError) as error:
        raise Permanent(f"the archive is broken ({error})") from error
    budget.members -= len(members)
    if budget.members < 0:
        raise Permanent(f"the archive holds more than {MOST_MEMBERS:,} files")
    end = 0
    for member in sorted(members, key=lambda it: it.header_offset):
        check_name(member.filename)
        if member.header_offset < end:
            raise Permanent("files in the archive overlap each other")
        end = check_member(file, member, budget, depth)


def check_name(name: str) -> None:
    parts = (*PurePosixPath(name).parts, *PureWindowsPath(name).parts)
    if ".." in parts or PurePosixPath(name).is_absolute() or PureWindowsPath(name).drive or "\0" in name:
        raise Permanent("a file in the archive has a name that leads out of it")


def check_member(file: BinaryIO, member: ZipInfo, budget: Budget, depth: int) -> int:
    """Where its data ends. What it inflates to is counted, whatever the archive says of it."""
    if member.flag_bits & ENCRYPTED:
        raise Permanent("the archive is locked with a password, so that nobody can look into it")
    file.seek(member.header_offset)
    header = file.read(LOCAL_HEADER)
    if len(header) < LOCAL_HEADER or not header.startswith(b"PK\x03\x04"):
        raise Permanent("the archive is broken (a file is not where its list says)")
    start = file.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
    count, nested = counted(inflated(file, member), budget)
    if count != member.file_size:
        raise Permanent("a file in the archive is not as large as the archive says")
    if nested:
        look_into(nested, budget, depth + 1)
    return start + member.compress_size


def counted(pieces: Iterator[bytes], budget: Budget) -> tuple[int, BytesIO | None]:
    """How many bytes there are, all charged to the budget; and the bytes, where they are an archive again."""
    kept, count = None, 0
    for piece in pieces:
        if not count and piece.startswith((*NESTED, *OPAQUE)):
            kept = BytesIO()
        count += len(piece)
        budget.spend(len(piece), count)
        if kept:
            kept.write(piece)
    if kept:
        kept.seek(0)
    return count, kept


def inflated(file: BinaryIO, member: ZipInfo) -> Iterator[bytes]:
    """The bytes of a member, in pieces."""
    pieces = read(file, member.compress_size)
    match member.compress_type:
        case kind if kind == ZIP_STORED:
            yield from pieces
        case kind if kind == ZIP_DEFLATED:
            inflater = zlib.decompressobj(-zlib.MAX_WBITS)
            for piece in pieces:
                while piece and not inflater.eof:
                    yield from filter(None, [inflate_raw(inflater, piece)])
                    piece = inflater.unconsumed_tail
        case _:
            raise Permanent("the archive is packed in an unusual way: pack it as an ordinary zip")


def inflate_raw(inflater: "zlib._Decompress", piece: bytes) -> bytes:
    try:
        return inflater.decompress(piece, PIECE)
    except zlib.error as error:
        raise Permanent("the archive is broken (a file cannot be inflated)") from error


def read(file: BinaryIO, count: int) -> Iterator[bytes]:
    while count > 0:
        if not (piece := file.read(min(count, PIECE))):
            raise Permanent("the archive is broken (it ends too early)")
        count -= len(piece)
        yield piece


def look_into_stream(file: BinaryIO, head: bytes, budget: Budget, depth: int) -> None:
    """A gzip, bzip2 or xz file: one member, which may be an archive again."""
    _, nested = counted(unpacked(file, head), budget)
    if nested:
        look_into(nested, budget, depth + 1)


def unpacked(file: BinaryIO, head: bytes) -> Iterator[bytes]:
    rest = b""
    try:
        while rest or (rest := file.read(PIECE)):
            inflater = new_inflater(head)
            while not inflater.eof:
                if piece := inflater.decompress(rest, PIECE):
                    yield piece
                rest = getattr(inflater, "unconsumed_tail", b"")
                if not rest and not piece and not (rest := file.read(PIECE)):
                    raise Permanent("the archive is broken (it ends too early)")
            rest = inflater.unused_data.lstrip(b"\0")
    except (zlib.error, OSError, lzma.LZMAError, EOFError, ValueError) as error:
        raise Permanent("the archive is broken (it cannot be unpacked)") from error


def new_inflater(head: bytes) -> Inflater:
    if head.startswith(b"\x1f\x8b"):
        return zlib.decompressobj(16 + zlib.MAX_WBITS)
    return bz2.BZ2Decompressor() if head.startswith(b"BZh") else lzma.LZMADecompressor(
        memlimit=200_000_000)
