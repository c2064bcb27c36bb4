"""What a version says, to be read: its typed blocks as text in our own elements."""

from collections.abc import Sequence

from markupsafe import Markup

from almanac.client import Json
from dashboards.words import joined, markup

CELLS = " | "  # between the cells of a table's row, as blocks have it
LOWEST = 6  # of headings in HTML; the screen has the first two


def reader(blocks: Sequence[Json]) -> Markup:
    return markup('<article class="reader" dir="auto">{}</article>', joined(map(block, blocks)))


def block(told: Json) -> Markup:
    words = told["text"]
    match told["kind"]:
        case "heading":
            level = min(told.get("level", 1) + 2, LOWEST)
            return Markup("<h{0} dir='auto'>{1}</h{0}>").format(level, markup("{}", words))
        case "list_item":
            return markup('<p class="item {}" style="margin-inline-start:{}rem" dir="auto">{}</p>',
                          "ordered" if told.get("ordered") else "loose", 1.4 * told.get("level", 1), words)
        case "quote":
            return markup('<blockquote dir="auto">{}</blockquote>', words)
        case "code":
            return markup("<pre><code>{}</code></pre>", words)
        case "table":
            return grid(words.split("\n"), told.get("header_rows", 0))
        case _:
            return markup('<p dir="auto">{}</p>', words)


def grid(lines: Sequence[str], header_rows: int) -> Markup:
    return markup('<div class="scroll"><table><tbody>{}</tbody></table></div>', joined(
        markup("<tr>{}</tr>", joined(
            markup('<th dir="auto">{}</th>' if number < header_rows else '<td dir="auto">{}</td>', cell)
            for cell in line.split(CELLS)))
        for number, line in enumerate(lines)))
