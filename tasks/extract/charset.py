"""Bytes to text: in which encoding a page is written, whatever it says of itself.

The order is the HTML standard's (§13.2.3.2): byte-order mark, what HTTP declared, what the page declares.
A declaration that the bytes contradict is passed over, and what is left is guessed from the text.
"""

import codecs
import re

from charset_normalizer import from_bytes

BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be",
}

# The standard reads some names as a larger encoding (https://encoding.spec.whatwg.org/#names-and-labels).
READ_AS = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874",
    "tis-620": "cp874", "gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs", "shift_jis": "cp932",
    "euc_kr": "cp949", "utf-16": "utf-16-le",
}
SINGLE_BYTE = frozenset({
    "cp866", "cp874", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic",
    *(f"cp125{page}" for page in range(9)),
    *(f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
})
KNOWN = SINGLE_BYTE | {
    "utf-8", "utf-16-le", "utf-16-be", "gb18030", "cp932", "euc_jp", "iso2022_jp", "cp949", "big5hkscs",
}
SPELLINGS = {"windows-874": "cp874", "iso-8859-8-i": "iso8859-8", "unicode": "utf-16-le"}

# What an unlabelled page in these languages is in (the standard's defaults by locale); else windows-1252.
BY_LANGUAGE = (
    dict.fromkeys(("cs", "hr", "hu", "pl", "ro", "sk", "sl"), "cp1250")
    | dict.fromkeys(("et", "lt", "lv"), "cp1257") | dict.fromkeys(("tr", "az"), "cp1254") | {"vi": "cp1258"}
)
GUESSED = [
    "cp1251", "koi8_r", "cp1253", "cp1255", "cp1256", "cp874", "gb18030", "big5", "cp932", "euc_jp", "cp949",
]

DECLARED_WITHIN = 4096  # the standard looks at 1,024 bytes, and browsers restart when they find one later
DECLARATION = re.compile(
    rb"""<meta\b[^<>]*?\bcharset\s*=\s*["']?\s*([\w.:-]+)|<\?xml\b[^<>]*?\bencoding\s*=\s*["']([\w.:-]+)""",
    re.IGNORECASE,
)
COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
LANGUAGE = re.compile(rb"""<html\b[^<>]*?\blang\s*=\s*["']?([a-z]{2})\b""", re.IGNORECASE)
TAG_OR_SCRIPT = re.compile(rb"<(script|style)\b.*?(?:</\1|\Z)|<[^<>]*>", re.IGNORECASE | re.DOTALL)
SAMPLE = 100_000
LETTERS = bytes(range(0x41, 0x5B)) + bytes(range(0x61, 0x7B))
HIGH = bytes(range(0x80, 0x100))


def decode(body: bytes, declared: str | None) -> str:
    """The text of a page; ``declared`` is what HTTP said. What cannot be read becomes U+FFFD."""
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if body.startswith(mark):
            return body[len(mark):].decode(encoding, "replace")
    for encoding in _candidates(body, declared):
        text = _read(body, encoding)
        if text is not None:
            return text
    return body.decode(_guess(body), "replace")


def encoding_named(label: str | None) -> str | None:
    """The encoding of a label by the WHATWG's table, as Python names it; none for what is no web encoding."""
    label = (label or "").strip().lower()
    try:
        name = codecs.lookup(SPELLINGS.get(label, label.removeprefix("x-"))).name
    except (LookupError, ValueError):  # the second for labels that no name could be
        return None
    name = READ_AS.get(name, name)
    return name if name in KNOWN else None


def _candidates(body: bytes, declared: str | None) -> list[str]:
    found = DECLARATION.search(COMMENT.sub(b"", body[:DECLARED_WITHIN]))
    written = (found[1] or found[2]).decode("ascii", "replace") if found else None
    inside = encoding_named(written)
    if inside and inside.startswith("utf-16"):  # it could not have been read (§13.2.3.3)
        inside = "utf-8"
    named = [name for name in (encoding_named(declared), inside) if name]
    if b"\0" not in body[:SAMPLE]:
        named = [name for name in named if not name.startswith("utf-16")]
    # Any bytes are text in a single-byte encoding, and none but UTF-8 is UTF-8 by chance.
    if named and named[0] in SINGLE_BYTE and not body.isascii():
        return ["utf-8", *named]
    return [*named, "utf-8"]


def _read(body: bytes, encoding: str) -> str | None:
    """The text, unless it is not in this encoding: one stray bad byte among many good ones is no proof."""
    try:
        return body.decode(encoding)
    except UnicodeDecodeError:
        text = body.decode(encoding, "replace")
    other = len(text) - len(text.encode("ascii", "ignore"))
    return text if text.count("\ufffd") * 20 < other else None


def _guess(body: bytes) -> str:
    """By script: where most letters are ASCII the language decides, elsewhere the statistics of the bytes."""
    sample = TAG_OR_SCRIPT.sub(b" ", body[:SAMPLE])
    high = len(sample) - len(sample.translate(None, HIGH))
    latin = len(sample) - len(sample.translate(None, LETTERS))
    if high > latin:
        best = from_bytes(sample, cp_isolation=GUESSED).best()
        if best:
            return best.encoding
    language = LANGUAGE.search(body[:DECLARED_WITHIN])
    return BY_LANGUAGE.get(language[1].decode().lower() if language else "", "cp1252")
