"""Who can be asked: what is known of a provider before its key comes, and what any other needs."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from models.addresses import Address, check_address

LIMITS = ("requests_per_minute", "tokens_per_minute", "requests_per_day", "tokens_per_day")
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
LONGEST_MODEL, LONGEST_KEY, LARGEST_LIMIT = 200, 4096, 1_000_000_000
SHOWN = 4  # characters of a key
SHORT = 12  # a key below this shows none


class Provider(NamedTuple):
    """What a credential is made of that names no more than its provider; ``zone`` is where its day begins."""

    title: str
    url: str
    model: str | None = None
    limits: Mapping[str, int] = MappingProxyType({})
    zone: str = "UTC"


PROVIDERS: Mapping[str, Provider] = {
    "gemini": Provider(  # the free tier, as Google grants it
        "Google Gemini", "https://generativelanguage.googleapis.com/v1beta/openai/", "gemini-2.5-flash-lite",
        {"requests_per_minute": 15, "tokens_per_minute": 250_000, "requests_per_day": 1_000},
        "America/Los_Angeles"),
    "openai": Provider("OpenAI", "https://api.openai.com/v1/"),
}
FIRST = "gemini"  # of providers that are equal otherwise


@dataclass(frozen=True, slots=True)
class NewCredential:
    """A credential as it is wanted; of what is not said the provider's own. Raises ValueError, one sentence.

    ``limits`` are of LIMITS; None is no limit.
    """

    provider: str
    url: str | None = None
    model: str | None = None
    priority: int = 50
    enabled: bool = True
    limits: Mapping[str, int | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.provider):
            raise ValueError("a provider is named in small letters and digits, like gemini or my-server")
        known = PROVIDERS.get(self.provider)
        if self.url is None and known is None:
            raise ValueError(f"{self.provider} is not known: give the address of its OpenAI-compatible API, "
                             f"or name one of {', '.join(PROVIDERS)}")
        object.__setattr__(self, "url", check_address(self.url or known.url if known else self.url or ""))
        model = self.model or (known and known.model)
        if not model or len(model) > LONGEST_MODEL or not model.isprintable():
            raise ValueError(f"{title_of(self.provider)} needs the name of a model: give one")
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "limits", dict.fromkeys(LIMITS) | dict(known.limits if known else {})
                           | checked_limits(self.limits))
        check_priority(self.priority)


def title_of(provider: str) -> str:
    return PROVIDERS[provider].title if provider in PROVIDERS else provider


def zone_of(provider: str) -> str:
    return PROVIDERS[provider].zone if provider in PROVIDERS else "UTC"


def check_priority(priority: int) -> None:
    if not 0 <= priority <= 100:
        raise ValueError(f"the priority is {priority}: give 0 to 100")


def checked_limits(limits: Mapping[str, int | None]) -> dict[str, int | None]:
    for name, value in limits.items():
        if name not in LIMITS:
            raise ValueError(f"there is no limit {name!r}: there are {', '.join(LIMITS)}")
        if value is not None and not 1 <= value <= LARGEST_LIMIT:
            raise ValueError(f"{name} is {value}: give 1 or more, or null for no limit")
    return dict(limits)


def check_server(url: str, is_owners: Callable[[str, int], bool]) -> None:
    """Raises ValueError for an address to which a key would go in the clear, but for the owner's own."""
    address = Address.parse(url)
    if address.scheme != "https" and not is_owners(address.host, address.port):
        raise ValueError("a key goes to https addresses only: give one, or name the server in "
                         "ALMANAC_ALLOWED_NETWORKS")


def checked_key(key: str) -> str:
    """A key as it goes into a header. Raises ValueError, one sentence without anything of it."""
    key = key.strip()
    if not key:
        raise ValueError("the key is empty: give it as its provider shows it")
    if len(key) > LONGEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError("this is no key: a key is plain ASCII on one line, without spaces")
    return key


def last_four(key: str) -> str:
    """What is shown of a key; nothing of one so short that this would be much of it."""
    return key[-SHOWN:] if len(key) >= SHORT else ""
