"""Text as it is stored: composed (NFC), with plain blanks, and nothing in it that PostgreSQL cannot hold."""

import re
from unicodedata import normalize

# C0 and C1 controls but tab and the line ends, lone surrogates, non-characters, and two that only mislead a
# search: the soft hyphen and the byte-order mark.
UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\xad\ufeff\ud800-\udfff\ufffe\uffff]")
STRANGE = re.compile("[\x01-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\ufffd]")
LINE_END = re.compile("\r\n?|\x85|\u2028|\u2029")
MOST_CHARACTERS = 3_000_000  # of one document that has no markup
SAMPLE = 10_000
PARAGRAPH_END = re.compile(r"\n\s*\n")


def without_controls(text: str) -> str:
    return UNWANTED.sub("", text.replace("\x0b", "\n").replace("\x0c", "\n"))


def is_text(text: str) -> bool:
    """Whether decoded bytes were text at all: an image or an archive is full of controls."""
    sample = text[:SAMPLE]
    return len(STRANGE.findall(sample)) * 20 <= len(sample)  # NULs are half of an undeclared UTF-16 text


def one_line(text: str) -> str:
    """The words, with one blank between them."""
    return " ".join(normalize("NFC", without_controls(text)).split())


def lines(text: str) -> str:
    """The lines that say something, each with one blank between its words."""
    return "\n".join(line for part in _split(text) if (line := one_line(part)))


def code(text: str) -> str:
    """The lines with their indentation, without blanks at their end or blank lines around them."""
    return "\n".join(normalize("NFC", line).rstrip() for line in _split(text)).strip("\n")


def paragraphs(text: str) -> list[str]:
    """What blank lines part, each as its lines."""
    parts = PARAGRAPH_END.split("\n".join(_split(text)))
    return [paragraph for part in parts if (paragraph := lines(part))]


def _split(text: str) -> list[str]:
    return LINE_END.sub("\n", without_controls(text)).split("\n")
