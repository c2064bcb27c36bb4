"""What is handed in, and by which door it goes: decided on what is given, before any work."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from models.addresses import check_address
from tasks.errors import Rejected

MIB = 1024 * 1024
LONGEST_NAME = 300  # characters of a title, a file's name, a subject
LONGEST_ABOUT = 5_000


class Way(StrEnum):
    """The doors."""

    TEXT = "text"
    URI = "uri"
    UPLOAD = "upload"


class Subject(NamedTuple):
    """What a note is about, as whoever keeps it names it: the note stays one when all else of it changes."""

    type: str
    title: str


@dataclass(frozen=True, slots=True)
class Declaration:
    """A file that is to be uploaded; its bytes are held to this."""

    name: str
    media_type: str
    size: int
    sha256: str  # hex


@dataclass(frozen=True, slots=True)
class Limits:
    """What one keep may bring."""

    text: int = 5_000_000  # characters
    uri: int = 4_096  # characters
    scopes: int = 32
    bytes: int = 96 * MIB
    scanned_file: int = 100 * MIB  # that the scanner looks at whole, on its own or in an archive
    scanned_total: int = 400 * MIB  # of all that is in an archive
    http: bool = False  # besides https

    @property
    def file(self) -> int:
        """Bytes of a file: what the scanner would not look at whole is not taken."""
        return min(self.bytes, self.scanned_file)


@dataclass(frozen=True, slots=True)
class Given:
    """One thing that is handed in for those who hold all of ``scopes``: sorted, each once.

    What is None leaves what is known of the document as it is, but for ``expires_at``: a document that is
    given again without it does not expire.
    """

    scopes: tuple[str, ...]
    text: str | None = None
    uri: str | None = None
    title: str | None = None
    about: str | None = None  # a file in the giver's own words, by which it is found when it cannot be read
    subject: Subject | None = None
    observed_at: datetime | None = None
    expires_at: datetime | None = None
    preserve_source: bool = False
    upload: Declaration | None = None

    @property
    def names(self) -> Set[str]:
        """What of it decides the way."""
        deciding = ("text", "uri", "preserve_source", "upload", "observed_at", "expires_at")
        return {name for name in deciding if getattr(self, name)}


WAYS: Sequence[tuple[Set[str], Way]] = (  # the first whose names are all given
    ({"upload"}, Way.UPLOAD),
    ({"uri", "preserve_source"}, Way.URI),
    ({"text"}, Way.TEXT),
    ({"uri"}, Way.URI),
)
ALONE = "a file is kept by itself: leave out {name}, or keep it in a call of its own"
NEVER: Sequence[tuple[Set[str], Set[str], str]] = (  # these given, and none of those
    ({"preserve_source"}, {"uri"}, "preserve_source keeps what is at a URI: give the uri, or leave it out"),
    *(({"upload", name}, set(), ALONE.format(name=name))
      for name in ("text", "uri", "preserve_source", "observed_at", "expires_at")),
)
NOTHING = "there is nothing to keep: give a text, a uri or an upload"


def way_of(names: Set[str]) -> Way:
    """The door for what is given. Raises Rejected, with every reason, for what goes through none."""
    refused = [why for given, without, why in NEVER if given <= names and not without & names]
    way = next((way for given, way in WAYS if given <= names), None)
    if refused or way is None:
        raise Rejected(refused or [NOTHING])
    return way


def check(given: Given, limits: Limits, now: datetime) -> Way:
    """The door, for what keeps the limits. Raises Rejected, with every reason."""
    way = way_of(given.names)
    sizes = (
        (len(given.text or ""), limits.text, "the text has {:,} characters; {:,} are allowed"),
        (len(given.uri or ""), limits.uri, "the uri has {:,} characters; {:,} are allowed"),
        (len(given.scopes), limits.scopes, "there are {:,} scopes; {:,} are allowed"),
        (given.upload.size if given.upload else 0, limits.file, "the file has {:,} bytes; {:,} are allowed"),
    )
    wrong = [words.format(size, most) for size, most, words in sizes if size > most]
    if given.uri and not wrong and (why := refused_uri(given.uri, limits)):
        wrong.append(why)
    if given.text is not None and not given.text.strip():
        wrong.append("the text says nothing")
    if given.expires_at and given.expires_at <= now:
        wrong.append(f"expires_at is {given.expires_at.isoformat()}, which has passed: give a time to come, "
                     "or leave it out")
    if wrong:
        raise Rejected(wrong)
    return way


def refused_uri(uri: str, limits: Limits) -> str | None:
    try:
        address = check_address(uri)
    except ValueError as error:
        return str(error)
    if not limits.http and not address.startswith("https:"):
        return "only https addresses are kept: give the page's https address (ALMANAC_KEEP_HTTP allows http)"
    return None
