"""Text that a page holds and does not show, by styles of its elements and simple rules of its own sheet.

What is not rendered, and nothing on the page unfolds, is taken out before the text is looked for. What is put
out of sight by size, place or colour, and what may be unfolded, stays and is told: see ``tasks.gates``.
"""

import re
from collections.abc import Iterable, Mapping

from lxml.html import HtmlElement

from models.blocks import Block, text_of
from models.extracted import Hidden
from models.styles import CONCEALED, MOVING, UNSHOWN, WHITE, background_of, colour_of, hides, plainly
from tasks.extract.sheet import NAME, Sheet
from tasks.extract.text import one_line

LEAST = 4  # words of a passage: fewer stand in other places too
MOST = 20  # passages that are told
LONGEST = 500  # characters of each
WHOLE = 10_000  # characters of one that markup parts
MOST_SAID = 1_000_000  # characters of scripts and attributes
HALF = 0.5  # of a page's text: so much is hidden only until its scripts have run
ROOTS = frozenset({"html", "body", "head", "title", "script", "style", "noscript", "template"})
FOLDS = re.compile(  # names of things that begin folded
    r"(?:^|[-_])(?:tabs?|accordion|collaps\w*|toggle\w*|expand\w*|fold\w*|faqs?|panel|spoiler|more|slides?"
    r"|carousel|steps?)(?:$|[-_])", re.IGNORECASE)
SPEAKING = ("link", "meta", "script")
REFERS = ("href", "for", "aria-controls", "aria-owns")
PANELS = frozenset({"tabpanel", "region"})


def take_out(tree: HtmlElement) -> list[Hidden]:
    """Take what is not rendered out of the tree; the runs of at least four words that stay and are hidden."""
    sheet = Sheet(tree)
    elements = [element for element in tree.iter() if isinstance(element.tag, str)]
    styles = {element: declared for element in elements if (declared := sheet.declared(element))}
    unshown = [element for element, declared in styles.items()
               if UNSHOWN.search(declared) and element.tag not in ROOTS and says_much(element)]
    if unshown:
        named = mentioned(elements)
        drop(tree, {element for element in unshown
                    if not unfolds(element, styles[element], named) and not sheet.may_show(element)})
    closed = not any("stylesheet" in link.get("rel", "").lower() for link in tree.iter("link"))
    found: dict[str, Hidden] = {}
    for element, declared in styles.items():
        how = CONCEALED if has_no_contrast(element, styles, sheet, closed) else hides(declared)
        if how is None or element.tag in ROOTS or tree not in element.iterancestors():
            continue
        whole = element.text_content()
        for text in map(one_line, [whole[:WHOLE], *element.itertext()]):
            if len(text.split()) >= LEAST and (text not in found or how == CONCEALED):
                found[text] = Hidden(how, text)
    return list(found.values())


def within(hidden: list[Hidden], blocks: tuple[Block, ...]) -> tuple[Hidden, ...]:
    """Those that came into the text all the same; no part of another."""
    if not hidden:
        return ()
    said = one_line(text_of(blocks))
    told: list[Hidden] = []
    for it in sorted(hidden, key=lambda it: it.how != CONCEALED):
        if len(told) < MOST and it.text in said and not any(it.text in other.text for other in told):
            told.append(it)
    return tuple(Hidden(it.how, it.text[:LONGEST]) for it in told)


def says_much(element: HtmlElement) -> bool:
    return len(element.text_content().split()) >= LEAST


def unfolds(element: HtmlElement, declared: str, named: set[str]) -> bool:
    """Whether something on the page can bring the element into sight.

    Its id or a class of it is named by a script or by another element; or it is called a tab, a fold, a
    panel; or it moves.
    """
    names = {*element.get("class", "").split(), element.get("id", "")}
    return (
        not named.isdisjoint(names) or any(map(FOLDS.search, names)) or MOVING.search(declared) is not None
        or element.get("hidden") == "until-found" or element.get("role") in PANELS
        or next(element.iterancestors("details"), None) is not None
    )


def mentioned(elements: Iterable[HtmlElement]) -> set[str]:
    """The words in scripts, and in what elements say of others: ids and classes may be among them."""
    said: list[str] = []
    for element in elements:
        if element.tag == "script" and "json" not in element.get("type", ""):
            said.append(element.text or "")
        said += [value for name, value in element.items()
                 if name in REFERS or name.startswith(("on", "data-"))]
    return set(NAME.findall(" ".join(said)[:MOST_SAID]))


def drop(tree: HtmlElement, elements: set[HtmlElement]) -> None:
    """Take the elements out, but for most of a page; what in them speaks about the page is kept."""
    outer = [element for element in elements if elements.isdisjoint(element.iterancestors())]
    if sum(len(element.text_content()) for element in outer) > HALF * len(tree.text_content()):
        return
    for element in outer:
        for said in list(element.iter(*SPEAKING)):
            said.tail = None
            tree.append(said)
        element.drop_tree()


def has_no_contrast(
    element: HtmlElement, styles: Mapping[HtmlElement, str], sheet: Sheet, closed: bool
) -> bool:
    """Whether its text has the colour of what is behind it, which is white where nobody says.

    A colour that a rule gives is believed where no other file and no rule that is not understood may change
    it, or what is behind it; one that stands in the element itself always is.
    """
    if (colour := colour_of(styles[element])) is None:
        return False
    around = (element, *element.iterancestors())
    behind = (background_of(f"background:{it.get('bgcolor', '')};{styles.get(it, '')}") for it in around)
    if colour != next(filter(None, behind), WHITE):
        return False
    by_itself = colour_of(plainly(element.get("style", ""))) is not None
    return by_itself or (closed and not any(map(sheet.may_be_painted, around)))
