"""Text that a page holds and does not show: by styles of its elements, and by plain rules of its own.

What other files of style hide is not known here: they are not fetched.
"""

import re
from collections.abc import Iterator

from lxml.html import HtmlElement

from models.blocks import Block, text_of
from models.extracted import Hidden
from models.styles import COLLAPSED, CONCEALED, has_background, hides, is_white
from tasks.extract.text import one_line

LEAST = 4  # words of a passage: fewer stand in other places too
MOST = 20  # passages that are told
LONGEST = 500  # characters of each
MOST_RULES = 500
AT_RULE = re.compile(r"@[^{};]*(?:;|\{(?:[^{}]*\{[^{}]*\})*[^{}]*\})")  # conditions that may not hold
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
SIMPLE = re.compile(r"([a-z][a-z0-9]*)?(?:([.#])([\w-]+))?", re.IGNORECASE)


def hidden_passages(tree: HtmlElement) -> list[Hidden]:
    """The runs of text of at least four words that the page hides, in its order."""
    found: dict[str, Hidden] = {}
    by_class, by_id, by_tag = style_sheet(tree)
    for element in tree.iter():
        if not isinstance(element.tag, str) or element.tag in {"html", "body", "head"}:
            continue
        style = element.get("style")
        ways = {hides(style) if style else None, by_id.get(element.get("id", "")), by_tag.get(element.tag),
                *map(by_class.get, element.get("class", "").split()),
                COLLAPSED if element.get("hidden") is not None else None,
                CONCEALED if style and white_on_nothing(element, style) else None}
        if how := CONCEALED if CONCEALED in ways else COLLAPSED if COLLAPSED in ways else None:
            for text in map(one_line, element.itertext()):
                if len(text.split()) >= LEAST and (text not in found or how == CONCEALED):
                    found[text] = Hidden(how, text)
    return list(found.values())


def within(hidden: list[Hidden], blocks: tuple[Block, ...]) -> tuple[Hidden, ...]:
    """Those that came into the text all the same."""
    if not hidden:
        return ()
    said = one_line(text_of(blocks))
    told = [Hidden(it.how, it.text[:LONGEST]) for it in hidden if it.text in said]
    return tuple(sorted(told, key=lambda it: it.how != CONCEALED)[:MOST])


def white_on_nothing(element: HtmlElement, style: str) -> bool:
    """Whether its text is white, and neither it nor what holds it says on what."""
    around = (element, *element.iterancestors())
    return is_white(style) and not any(
        has_background(it.get("style", "")) or it.get("bgcolor") for it in around)


def style_sheet(tree: HtmlElement) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """How the page's own rules hide elements: by class, by id and by name."""
    ways: dict[str, dict[str, str]] = {".": {}, "#": {}, "": {}}
    for selector, how in hiding_rules("".join(style.text or "" for style in tree.iter("style"))):
        if (simple := SIMPLE.fullmatch(selector)) and (simple[1] or simple[3]):
            ways[simple[2] or ""][simple[3] or simple[1].lower()] = how
    return ways["."], ways["#"], ways[""]


def hiding_rules(sheet: str) -> Iterator[tuple[str, str]]:
    for number, (selectors, declarations) in enumerate(RULE.findall(AT_RULE.sub("", sheet))):
        if number == MOST_RULES:
            return
        if how := hides(declarations):
            yield from ((selector.strip(), how) for selector in selectors.split(","))
