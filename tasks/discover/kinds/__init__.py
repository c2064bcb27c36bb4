"""The kinds of source: one file each, and one line here."""

from collections.abc import Mapping

from models.states import SourceKind
from tasks.discover.kinds import documentation, feed, json_api, listing, page, single, sitemap
from tasks.discover.offers import Discover

KINDS: Mapping[SourceKind, Discover] = {
    SourceKind.FEED: feed.discover,
    SourceKind.PAGE: page.discover,
    SourceKind.LISTING: listing.discover,
    SourceKind.SITEMAP: sitemap.discover,
    SourceKind.JSON: json_api.discover,
    SourceKind.URL: single.discover,
    SourceKind.KEPT: single.discover,
    SourceKind.EXTERNAL: single.discover,
    SourceKind.DOCUMENTATION: documentation.discover,
}
