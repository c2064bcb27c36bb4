"""Running text without paragraphs, or in several places, put where the extractor finds it."""

import re

from lxml.html import Element, HtmlElement

SENTENCE = 8  # words; shorter paragraphs are menus and bylines as often as text
ENDS_A_SENTENCE = re.compile(r"[.!?\u2026]['\"\u2019\u201d\xbb)]*$")
PARTS = frozenset({"div", "section"})
BOXES = ("article", "center", "div", "font", "main", "section", "td")
PHRASING = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "br", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img",
    "ins", "kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt",
    "u", "var", "wbr",
})  # https://html.spec.whatwg.org/#phrasing-content, as far as it is text, and what came before it


def words(element: HtmlElement) -> int:
    return len(element.text_content().split())


def make_paragraphs(tree: HtmlElement) -> None:
    """Text that stands in a box and is parted by empty lines (two ``<br>``) becomes paragraphs."""
    for box in list(tree.iter(*BOXES)):
        if any(map(_is_empty_line, box.iterchildren("br"))) and _loose_words(box) >= SENTENCE:
            _part(box)


def name_lead(tree: HtmlElement, body: HtmlElement | None) -> None:
    """A box that holds only a sentence, between the headline and the first paragraph, becomes a paragraph.

    One that stands before the body that was found is brought into it.
    """
    below_headline = False
    for element in list(tree.iter("h1", "p", "div")):
        if element.tag == "h1":
            below_headline = True
        elif below_headline and element.tag == "p" and words(element) >= SENTENCE:
            return
        elif below_headline and element.tag == "div" and _is_sentence(element):
            element.tag = "p"
            if body is not None and body not in element.iterancestors():
                element.drop_tree()
                element.tail = None
                body.insert(0, element)
                return


def join_bodies(first: HtmlElement) -> None:
    """Bring the later parts of an article that is held in several boxes alike into the first.

    The extractor reads one box only. A box with a headline of its own is another article, and so is what
    calls itself one.
    """
    kind = _kind(first)
    if first.tag not in PARTS or not any(kind[1:]) or not _runs(first):
        return
    alike = [box for box in first.getroottree().iter(first.tag) if _kind(box) == kind and _runs(box)]
    later = alike[alike.index(first) + 1:]
    if any(next(box.iter("h1"), None) is not None for box in later):
        return
    for box in later:
        if first not in box.iterancestors():
            rest = Element("div")
            rest.extend(box)
            rest.text, box.text = box.text, None
            first.append(rest)


def _kind(box: HtmlElement) -> tuple[str | None, ...]:
    return box.tag, box.get("class"), box.get("itemprop")


def _runs(box: HtmlElement) -> bool:
    return any(words(paragraph) >= SENTENCE for paragraph in box.iter("p"))


def _is_empty_line(line_break: HtmlElement) -> bool:
    before = line_break.getprevious()
    return before is not None and before.tag == "br" and not (before.tail or "").strip()


def _loose_words(box: HtmlElement) -> int:
    return sum(len((text or "").split()) for text in (box.text, *(child.tail for child in box)))


def _is_phrasing(element: HtmlElement) -> bool:
    return element.tag in PHRASING and all(map(_is_phrasing, element))


def _is_sentence(box: HtmlElement) -> bool:
    """Whether nothing but running text is in it, most of it no link."""
    text = box.text_content().strip()
    if not ENDS_A_SENTENCE.search(text) or not all(map(_is_phrasing, box)):
        return False
    return len(text.split()) - sum(map(words, box.iter("a"))) >= SENTENCE


def _part(box: HtmlElement) -> None:
    """Wrap each run of phrasing content in a paragraph; a second line break in a row ends one."""
    children: list[HtmlElement] = []
    paragraph: HtmlElement | None = None
    for piece in _pieces(box):
        if isinstance(piece, str):
            if paragraph is None and not piece.strip():
                continue
        elif not _is_phrasing(piece):
            children.append(piece)
            paragraph = None
            continue
        elif piece.tag == "br" and paragraph is not None and _ends_in_break(paragraph):
            paragraph = None
            continue
        if paragraph is None:
            paragraph = Element("p")
            children.append(paragraph)
        _add(paragraph, piece)
    box[:] = children


def _pieces(box: HtmlElement) -> list[str | HtmlElement]:
    """What is directly in a box, taken out of it: texts and elements in turn."""
    pieces: list[str | HtmlElement] = [box.text or ""]
    for child in list(box):
        pieces += [child, child.tail or ""]
        child.tail = None
    box.text = None
    return pieces


def _ends_in_break(paragraph: HtmlElement) -> bool:
    return len(paragraph) > 0 and paragraph[-1].tag == "br" and not (paragraph[-1].tail or "").strip()


def _add(paragraph: HtmlElement, piece: str | HtmlElement) -> None:
    if not isinstance(piece, str):
        paragraph.append(piece)
    elif len(paragraph):
        paragraph[-1].tail = (paragraph[-1].tail or "") + piece
    else:
        paragraph.text = (paragraph.text or "") + piece
