"""Words on a screen. What comes from anywhere else is shown as text: here is the only HTML, and it is ours.

``st.markdown``, ``st.write`` and their like are not for foreign words: they would load a picture that a title
names. ``Markup.format`` escapes whatever is put into a template that is not itself a ``Markup``.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from urllib.parse import urlencode, urlsplit
from zoneinfo import ZoneInfo

import streamlit as st
from markupsafe import Markup, escape

# Marks that turn the order of what follows, for everything that stands after them on a line.
TURNING = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])


def plain(words: str) -> str:
    """``words`` without what would turn others."""
    return words.translate(TURNING)


def text(words: str) -> Markup:
    """``words`` as text that stays inside its element, whatever they are."""
    return escape(plain(words))


def markup(template: str, *words: object, **named: object) -> Markup:
    """``template``, which is ours, with words put in as text; a Markup among them stays what it is."""
    return Markup(template).format(  # noqa: S704 - only ever given literals
        *map(_inert, words), **{name: _inert(word) for name, word in named.items()}
    )


def _inert(word: object) -> object:
    return text(word) if type(word) is str else word


def joined(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)


def shown(what: Markup, width: str = "stretch") -> None:
    st.html(what, width=width)


def link(url: str, words: str) -> Markup:
    """``words`` that open ``url`` in another tab; only the words where it is no web address."""
    if not is_web_address(url):
        return text(words)
    return markup('<a href="{}" target="_blank" rel="noopener noreferrer">{}</a>', url, words)


def to_screen(path: str, words: str, **query: object) -> Markup:
    """``words`` that lead to a view of ours: its screen's path and what stands in its address."""
    said = urlencode({name: value for name, value in query.items() if value is not None})
    return markup('<a href="/{}{}">{}</a>', path, said and f"?{said}", words)


def is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def title(words: str, above: Markup) -> None:
    """The name of one thing that is shown, which may be foreign, under the way back to its like."""
    shown(markup('<header class="title"><p>{}</p><h1 dir="auto">{}</h1></header>', above, words))


def heading(words: str) -> None:
    """Over a part of a screen."""
    shown(markup('<h2 class="over">{}</h2>', words))


def notice(title: str, *sentences: str) -> None:
    """A quiet panel that says how things stand and what to do next; `commands` stand in backticks."""
    lines = joined(markup("<p>{}</p>", with_commands(sentence)) for sentence in sentences)
    shown(markup('<section class="notice" role="status"><h2>{}</h2>{}</section>', title, lines))


def with_commands(sentence: str) -> Markup:
    parts = sentence.split("`")
    return joined(markup("<code>{}</code>", part) if number % 2 else text(part)
                  for number, part in enumerate(parts))


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def ago(stamp: str) -> str:
    """How long before now an ISO 8601 time was, by its largest unit: “3 h ago”."""
    return f"{lasting(max((datetime.now(UTC) - datetime.fromisoformat(stamp)).total_seconds(), 0))} ago"


def lasting(seconds: float) -> str:
    """A length of time by its largest unit: “3 h”."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def moment(stamp: str) -> str:
    """An ISO 8601 time as the viewer's clock shows it, to the minute."""
    when = _local(stamp)
    is_this_year = when.year == datetime.now(when.tzinfo).year
    return f"{when.day} {when:%b}, {when:%H:%M}" if is_this_year else f"{_day(when)}, {when:%H:%M}"


def day(stamp: str | None) -> str:
    """The day of an ISO 8601 time where the viewer is; midnight UTC is how feeds write a day alone."""
    if not stamp:
        return "undated"
    when = datetime.fromisoformat(stamp).astimezone(UTC)
    is_day_alone = (when.hour, when.minute, when.second) == (0, 0, 0)
    return _day(when if is_day_alone else _local(stamp))


def _day(when: datetime) -> str:
    return f"{when.day} {when:%b %Y}"


def _local(stamp: str) -> datetime:
    return datetime.fromisoformat(stamp).astimezone(_zone())


def zone() -> str:
    """The viewer's time zone, by its name."""
    return _zone().key


def _zone() -> ZoneInfo:
    try:
        return ZoneInfo(st.context.timezone or "UTC")
    except (KeyError, ValueError):  # a name that this machine does not know
        return ZoneInfo("UTC")
