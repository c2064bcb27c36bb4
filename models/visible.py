"""Text as it may be shown: nothing in it is hidden, and nothing of it breaks out of its line."""

INVISIBLE = dict.fromkeys([
    *range(0x09), *range(0x0E, 0x1C), *range(0x7F, 0x85), *range(0x86, 0xA0),  # controls
    0xAD, 0x200B, 0x2060, 0xFEFF,  # soft hyphen, zero width
    *range(0x202A, 0x202F), *range(0x2066, 0x206A),  # changes of direction
    *range(0xE0000, 0xE01F0),  # tags and variation selectors, which can carry hidden text
])


def visible(text: str) -> str:
    return text.translate(INVISIBLE)


def quoted(text: str) -> list[str]:
    """The lines of a text, each behind ``>``."""
    return [f"> {line}".rstrip() for line in visible(text).splitlines()]
