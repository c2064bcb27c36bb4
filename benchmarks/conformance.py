"""``make conformance CORPUS=folder``: hold addresses, their identity and robots.txt to facts from elsewhere.

Reads addresses.json, urls_unsafe.json, robots.json, urls_normalise.json and tracking_params.json of the
folder. Where others are not followed, the reason stands here and is counted. No name is looked up: every public name
is taken to lead to a public address and every other one to where the fact says.
"""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from models.addresses import Address, identity_key
from models.tracking import is_tracking
from tasks.errors import Unsafe
from tasks.web.dialling import GuardedBackend
from tasks.web.policy import Policy
from tasks.web.robots import Rules

PUBLIC = "93.184.215.14"
Case = dict[str, Any]

# Where other normalisers join addresses that may be two pages.
NOT_JOINED = {
    "http://www.example.com/do?b=&a=2": "a parameter without a value counts",
    "http://www.example.com/do?1750,4": "a bare comma is not an escaped one, and a name without = not one with",
    "http://www.example.com/do?q=a space&a=1": "the order of parameters counts, and %20 is not +",
    "http://example.com/?q=%C7": "bytes that are no UTF-8 are kept as they are",
    "http://example.com/?q=C%CC%A7": "servers see bytes, which Unicode normalisation would change",
}
# What two lists of seven or more take for tracking on every site, and some site chooses a page by.
KEPT = {"campaign_id": "a site of campaigns chooses by it", "ga_*": "only the names that are known, no prefix"}
OF_ONE_SITE = {"igsh"}  # that no other site uses
LISTS = 2


def main(folder: Path) -> int:
    scores = [
        score("addresses", read(folder / "addresses.json"), address_is_right),
        score("urls_unsafe", read(folder / "urls_unsafe.json"), url_is_right),
        score("robots", read(folder / "robots.json"), robots_is_right),
        score("urls_normalise", followed(read(folder / "urls_normalise.json")), key_is_right),
        score("tracking_params", read(folder / "tracking_params.json", "params"), tracking_is_right),
    ]
    return 0 if all(scores) else 1


def read(path: Path, key: str = "cases") -> list[Case]:
    cases: list[Case] = json.loads(path.read_text(encoding="utf-8"))[key]
    return cases


def score(name: str, cases: Iterable[Case], is_right: Callable[[Case], bool]) -> bool:
    cases = list(cases)
    wrong = [case for case in cases if not is_right(case)]
    print(f"{name}: {len(cases) - len(wrong)} of {len(cases)}")
    for case in wrong:
        print("   ", json.dumps(case, ensure_ascii=False)[:300])
    return not wrong


def address_is_right(case: Case) -> bool:
    try:
        Policy().check_ip(case["address"], "site.example", 443)
    except Unsafe:
        return bool(not case["fetch_allowed"] or case.get("may_deny"))
    return bool(case["fetch_allowed"] or case.get("may_allow"))


def url_is_right(case: Case) -> bool:
    async def resolver(host: str, port: int) -> list[str]:
        return [PUBLIC]

    backend = GuardedBackend(Policy("example.com:8080"), resolver)
    try:
        address = Address.parse(case["url"])
        asyncio.run(backend.addresses(address.host, address.port))
    except (ValueError, Unsafe):
        return bool(case["verdict"] != "allow")
    return bool(case["verdict"] == "allow")


def robots_is_right(case: Case) -> bool:
    """What only Google's parser does is not ours; addresses are encoded before they are asked for."""
    if case["google_only"] or not case["url"].isascii():
        return True
    rules = Rules.parse(case["robots"].encode(), case["user_agent"])
    return rules.allows(Address.parse(case["url"])) is bool(case["allowed"])


def followed(cases: list[Case]) -> list[Case]:
    """The cases that are about which addresses are one page; says how many are not followed, and why."""
    reasons = [(case, not_followed(case)) for case in cases]
    for reason, number in Counter(filter(None, (reason for _, reason in reasons))).most_common():
        print(f"urls_normalise: {number} not followed: {reason}")
    return [case for case, reason in reasons if reason is None]


def not_followed(case: Case) -> str | None:
    if case["func"] == "url_query_cleaner":
        return "it takes away what its caller names"
    try:
        identity_key(case["input"])
    except ValueError:
        return "it is no http(s) address without credentials, or a relative one"
    if "encoding" in case.get("kwargs", {}):
        return "the charset of the page that links there changes no key"
    if case["input"] in NOT_JOINED and not key_is_right(case):
        return NOT_JOINED[case["input"]]
    pairs = [sorted((identity_key(case[side]).partition("?")[2]).split("&")) for side in ("input", "expected")]
    separated = [sorted(";".join(side).split(";")) for side in pairs]
    if separated[0] == separated[1] and not key_is_right(case):
        return "the order of parameters counts"
    return None


def key_is_right(case: Case) -> bool:
    """Whether the two are one page for us too."""
    return identity_key(case["input"]) == identity_key(case["expected"])


def tracking_is_right(case: Case) -> bool:
    """What one list alone has may be taken away or kept; a pattern is judged by its names."""
    lists, name = case["n_lists_incl_prefix"], case["name"]
    if case["kind"] == "regex" or lists == 1 or name in KEPT | dict.fromkeys(OF_ONE_SITE):
        return True
    example = name.replace("*", "x") if case["kind"] == "prefix" else name
    return is_tracking(example) is (lists >= LISTS)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
