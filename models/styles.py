"""What a style hides from a reader, by how: for good (``concealed``) or until a script shows it."""

import re

CONCEALED = "concealed"  # no page shows such text, whatever its scripts do
COLLAPSED = "collapsed"  # menus, tabs and folded answers begin so

NOTHING = r"(?:0*\.?0+|0)(?:px|r?em|pt|%)?"
WAYS = {
    CONCEALED: re.compile(
        rf"font-size:(?:{NOTHING}|0?\.\d+(?:px|pt)|1(?:px|pt))(?:$|[;!])"
        r"|(?:^|;)(?:left|right|top|text-indent|margin-left|margin-top):-\d{3,}"
        r"|(?:^|;)color:(?:transparent|rgba\(\d+,\d+,\d+,0?\.?0+\))"
        r"|clip:rect\(0|clip-path:inset\((?:50|100)%"
        r"|transform:scale\(0"
    ),
    COLLAPSED: re.compile(
        rf"(?:^|;)display:none|visibility:(?:hidden|collapse)|opacity:(?:0?\.0\d*|0)(?:$|[;!])"
        rf"|(?:^|;)(?:max-)?(?:height|width):{NOTHING}(?:$|[;!])"
    ),
}
WHITE = re.compile(r"(?:^|;)color:(?:white|#fff(?:fff)?|rgb\(255,255,255\))(?:$|[;!])")
COLOUR = re.compile(r"(?:^|;)color:([^;!]+)")
BACKGROUND = re.compile(r"(?:^|;)background(?:-color)?:([^;!]+)")


def plainly(style: str) -> str:
    return re.sub(r"/\*.*?\*/|\s+", "", style.lower())


def hides(style: str) -> str | None:
    """How the declarations of a ``style`` hide the text of their element; None where they do not."""
    declared = plainly(style)
    colour, background = COLOUR.search(declared), BACKGROUND.search(declared)
    if colour and background and colour[1] == background[1]:
        return CONCEALED
    return next((how for how, way in WAYS.items() if way.search(declared)), None)


def is_white(style: str) -> bool:
    """Whether the text is white, which shows only on a background that something else gives it."""
    return bool(WHITE.search(plainly(style)))


def has_background(style: str) -> bool:
    return "background" in style.lower()
