"""``make conformance CORPUS=folder``: hold the address policy and robots.txt to facts from elsewhere.

Reads addresses.json, urls_unsafe.json and robots.json of the folder. No name is looked up: every public name
is taken to lead to a public address and every other one to where the fact says.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from models.addresses import Address
from tasks.errors import Unsafe
from tasks.web.dialling import GuardedBackend
from tasks.web.policy import Policy
from tasks.web.robots import Rules

PUBLIC = "93.184.215.14"
Case = dict[str, Any]


def main(folder: Path) -> int:
    scores = [
        score("addresses", read(folder / "addresses.json"), address_is_right),
        score("urls_unsafe", read(folder / "urls_unsafe.json"), url_is_right),
        score("robots", read(folder / "robots.json"), robots_is_right),
    ]
    return 0 if all(scores) else 1


def read(path: Path) -> list[Case]:
    cases: list[Case] = json.loads(path.read_text(encoding="utf-8"))["cases"]
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


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
