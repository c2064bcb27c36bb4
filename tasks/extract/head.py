"""The jailed parser of a page's head: its title and the feeds that it announces, whatever else it says."""

from typing import Any

from tasks.extract.about import about
from tasks.extract.charset import decode
from tasks.extract.markup import read


def parse(body: bytes, url: str, media_type: str, charset: str | None) -> dict[str, Any]:
    """``{"title": str, "feeds": [absolute http(s) addresses]}`` of the page at ``url``, in its order.

    A front page that is nothing to read tells them too. Raises Permanent for a page beyond the limits.
    """
    says = about(read(decode(body, charset)).tree, url)
    return {"title": says.title, "feeds": list(says.feeds)}
