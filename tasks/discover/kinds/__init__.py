"""The kinds of source: one file each, and one line here."""

from collections.abc import Mapping

from models.states import SourceKind
from tasks.discover.kinds import documentation, feed, page, single
from tasks.discover.offers import Discover

KINDS: Mapping[SourceKind, Discover] = {
    SourceKind.FEED: feed.discover,
    SourceKind.PAGE: page.discover,
    SourceKind.URL: single.discover,
    SourceKind.DOCUMENTATION: documentation.discover,
}
