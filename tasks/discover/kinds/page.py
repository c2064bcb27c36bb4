"""A page: one document, read again at every poll. The read is the look; the poll only asks for it."""

from models.addresses import identity_key
from models.states import PollOutcome
from tasks.discover.offers import Item, Look, Offer
from tasks.ports import Fetcher, Parser


async def discover(fetcher: Fetcher, parser: Parser, look: Look) -> Offer:
    """The page itself. Nothing is fetched: the read sends the document's own validators."""
    key = identity_key(look.url, look.fragment_routes)
    return Offer(PollOutcome.NEW, items=(Item(look.url, key, item_key=key),))
