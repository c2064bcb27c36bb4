"""What a style hides from a reader, by how: for good (``concealed``) or until a script shows it."""

import re

CONCEALED = "concealed"  # no page shows such text, whatever its scripts do
COLLAPSED = "collapsed"  # menus, tabs and folded answers begin so

NOTHING = r"(?:0*\.?0+|0)(?:px|r?em|pt|%)?"
UNSHOWN = re.compile(r"(?:^|;)display:none|visibility:(?:hidden|collapse)|opacity:(?:0?\.0\d*|0)%?(?:$|[;!])")
WAYS = {
    CONCEALED: re.compile(
        rf"font-size:(?:{NOTHING}|0?\.\d+(?:px|pt)|1(?:px|pt))(?:$|[;!])"
        r"|(?:^|;)(?:left|right|top|text-indent|margin-left|margin-top):-\d{3,}"
        r"|(?:^|;)color:(?:transparent|rgba\(\d+,\d+,\d+,0?\.?0+\))"
        r"|clip:rect\(0|clip-path:inset\((?:50|100)%"
        r"|transform:scale\(0"
    ),
    COLLAPSED: re.compile(
        rf"{UNSHOWN.pattern}|(?:^|;)(?:max-)?(?:height|width):{NOTHING}(?:$|[;!])"
    ),
}
MOVING = re.compile(r"(?:^|;)(?:transition|animation|will-change)")
COLOUR = re.compile(r"(?:^|;)color:([^;!]+)")
BACKGROUND = re.compile(r"(?:^|;)background(?:-color)?:([^;!]+)")
WHITE = "#ffffff"
SHORT_HEX = re.compile(r"^#([0-9a-f])([0-9a-f])([0-9a-f])$")
RGB = re.compile(r"rgba?\((\d{1,3}),(\d{1,3}),(\d{1,3})(?:,1(?:\.0+)?)?\)")
UNSAID = frozenset({"", "inherit", "initial", "unset", "none", "transparent", "currentcolor"})
NAMED = {"white": WHITE, "black": "#000000"}


def plainly(style: str) -> str:
    return re.sub(r"/\*.*?\*/|\s+", "", style.lower())


def merged(*styles: str) -> str:
    """What is left of plain styles: of two that say something of the same the later, or the important."""
    usual: dict[str, str] = {}
    important: dict[str, str] = {}
    for declaration in ";".join(styles).split(";"):
        name, colon, value = declaration.partition(":")
        if colon:
            level = important if value.endswith("!important") else usual
            level[name] = value.removesuffix("!important")
    return ";".join(f"{name}:{value}" for name, value in (usual | important).items())


def hides(style: str) -> str | None:
    """How the declarations of a ``style`` hide the text of their element; None where they do not."""
    declared = plainly(style)
    if (colour := colour_of(declared)) and colour == background_of(declared):
        return CONCEALED
    return next((how for how, way in WAYS.items() if way.search(declared)), None)


def colour_of(declared: str) -> str | None:
    """The colour of the text in a plain style."""
    return _normal(COLOUR.search(declared))


def background_of(declared: str) -> str | None:
    """What a plain style puts behind the text: a colour, or whatever else it says."""
    return _normal(BACKGROUND.search(declared))


def _normal(found: re.Match[str] | None) -> str | None:
    """A colour in one of its spellings; none for one that is not said here."""
    if found is None or found[1] in UNSAID:
        return None
    if rgb := RGB.fullmatch(found[1]):
        return "#" + "".join(f"{int(part):02x}" for part in rgb.groups())
    return NAMED.get(found[1]) or SHORT_HEX.sub(r"#\1\1\2\2\3\3", found[1])
