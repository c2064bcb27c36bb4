"""Single addresses: each is read when somebody asks for it, so there is nothing to poll."""

from models.states import PollOutcome
from tasks.discover.offers import Look, Offer
from tasks.ports import Fetcher, Parser


async def discover(fetcher: Fetcher, parser: Parser, look: Look) -> Offer:
    return Offer(PollOutcome.UNCHANGED, "its addresses are read when they are asked for")
