"""The style sheet that a page brings itself, as far as it is simple: which declarations hold for an element.

Selectors of names, classes, ids and ``[hidden]``, and what is made of them without a blank (``p.note#one``),
are understood; what depends on where an element stands, or on what is done with it, is not. Other files of
style are not fetched.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from lxml.html import HtmlElement

from models.styles import UNSHOWN, merged, plainly

MOST_CHARACTERS = 500_000  # of all sheets of a page
MOST_RULES = 2_000
COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.DOTALL)
ESCAPE = re.compile(r"\\(?:([0-9a-f]{1,6})\s?|([^\n]))", re.IGNORECASE)
INNER = r"(?:[^{}]*\{[^{}]*\})*"
ALWAYS = re.compile(
    rf"@(?:media\s+(?:only\s+)?(?:all|screen)|layer[^{{}};]*)\s*\{{({INNER})[^{{}}]*\}}", re.IGNORECASE)
CONDITION = re.compile(rf"@[^{{}};]*(?:;|\{{{INNER}[^{{}}]*\}})")  # that may not hold
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
COMPOUND = re.compile(r"(\*|[a-z][\w-]*)?((?:[.#][\w-]+|\[hidden\])*)", re.IGNORECASE)
PART = re.compile(r"[.#][\w-]+|\[hidden\]")
MATTERS = re.compile(
    "display|visibility|opacity|font|color|background|indent|left|right|top|clip|transform|height|width",
    re.IGNORECASE)
COMBINATOR = re.compile(r"[\s>+~]+")
CONDITIONS = re.compile(r"::?[\w-]+(?:\([^)]*\))?|\[[^\]]*\]")
TOUCHED = re.compile(r":(?:hover|focus|active|visited)")  # what holds only then
PAINTS = re.compile(r"(?:^|;)(?:color|background(?:-color)?):")
ANYTHING: tuple[None, frozenset[str]] = (None, frozenset())
SHOWS = re.compile(r"(?:^|;)(?:display|visibility|opacity):")
UNCLOSED = "}}"  # what the end of a sheet closes
OTHER = "_"
NAME = re.compile(r"[\w-]+")


class Rule(NamedTuple):
    """A compound selector and what it declares; the later and more specific of two wins."""

    specificity: tuple[int, int, bool]  # ids, classes and attributes, a name
    place: int
    tag: str | None
    parts: frozenset[str]
    style: str


class Sheet:
    """All ``<style>`` of a tree."""

    def __init__(self, tree: HtmlElement) -> None:
        self._shown: set[str] = set()  # names that other selectors bring into sight
        self._painted: set[tuple[str | None, frozenset[str]]] = set()  # what other selectors colour
        self._known: dict[tuple[object, ...], str] = {}
        self._rules: dict[str, list[Rule]] = defaultdict(list)  # by a part that an element must have
        for rule in self._read("".join(style.text or "" for style in tree.iter("style"))[:MOST_CHARACTERS]):
            self._rules[min(rule.parts, default=rule.tag or "")].append(rule)

    def declared(self, element: HtmlElement) -> str:
        """What holds for the element by itself, ``name:value;…``, its ``style`` and ``hidden`` included."""
        key = element.tag, *map(element.get, ("class", "id", "hidden", "style"))
        if key not in self._known:
            by_itself = key[3:] != (None, None)
            self._known[key] = self._declared(element) if self._rules or by_itself else ""
        return self._known[key]

    def may_show(self, element: HtmlElement) -> bool:
        """Whether selectors that are not understood bring the element into sight, on some condition."""
        return not self._shown.isdisjoint({element.tag, *element.get("class", "").split(), element.get("id")})

    def may_be_painted(self, element: HtmlElement) -> bool:
        """Whether selectors that are not understood may give the element another colour or background."""
        own = parts_of(element)
        return any(tag in {None, element.tag} and parts <= own for tag, parts in self._painted)

    def _declared(self, element: HtmlElement) -> str:
        own = parts_of(element)
        rules = [rule for key in (*own, element.tag) for rule in self._rules.get(key, ())
                 if rule.parts <= own and rule.tag in {None, element.tag}]
        by_browser = "display:none" if "[hidden]" in own else ""
        return merged(by_browser, *(rule.style for rule in sorted(rules)), plainly(element.get("style", "")))

    def _read(self, text: str) -> Iterator[Rule]:
        text = ESCAPE.sub(character, COMMENT.sub("", text)) + UNCLOSED
        text = CONDITION.sub("", ALWAYS.sub(r"\1", text))
        place = 0
        for selectors, declarations in RULE.findall(text):
            if not MATTERS.search(declarations) or place == MOST_RULES:
                continue
            place += 1
            style = plainly(declarations)
            for selector in map(str.strip, selectors.split(",")):
                if (simple := compound(selector)) is None:
                    self._note(selector, style)
                elif any(simple):
                    tag, parts = simple
                    ids = sum(part[0] == "#" for part in parts)
                    yield Rule((ids, len(parts) - ids, tag is not None), place, tag, parts, style)

    def _note(self, selector: str, style: str) -> None:
        """What is to be known of a rule whose selector is not understood."""
        if shows(style):
            self._shown |= set(NAME.findall(selector))
        if PAINTS.search(style) and not TOUCHED.search(selector):
            last = CONDITIONS.sub("", COMBINATOR.split(selector)[-1])
            self._painted.add(compound(last) or ANYTHING)


def compound(selector: str) -> tuple[str | None, frozenset[str]] | None:
    """The name and the other parts that an element must have; None for what is not understood."""
    if (found := COMPOUND.fullmatch(selector)) is None:
        return None
    return found[1].lower() if found[1] not in {None, "*"} else None, frozenset(PART.findall(found[2]))


def parts_of(element: HtmlElement) -> set[str]:
    parts = {f".{name}" for name in element.get("class", "").split()}
    parts |= {f"#{element.get('id')}"} if element.get("id") else set()
    return parts | ({"[hidden]"} if element.get("hidden") is not None else set())


def shows(style: str) -> bool:
    return bool(SHOWS.search(style)) and not UNSHOWN.search(style)


def character(escape: re.Match[str]) -> str:
    """What a backslash stands for (CSS Syntax §4.3.7): part of a name, whatever it is."""
    number = int(escape[1] or "0", 16)
    meant = chr(number) if 0 < number < 0xD800 else escape[2] or OTHER
    return meant if NAME.fullmatch(meant) else OTHER
