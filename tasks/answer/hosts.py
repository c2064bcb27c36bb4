"""Addresses that are written without their scheme: ``pier.example/talks``, ``keeper@pier.example``."""

import re
from pathlib import Path

from models.words import FUNCTION_WORDS

URL = r"(?:[^\s<>\"'“”()\[\]]|\([^\s()]*\))+"
LABEL = r"[^\W_](?:[\w-]{0,61}[^\W_])?"
HOST = (
    rf"(?<![\w.@/\\+-])(?:[\w.+-]{{1,64}}@)?(?:{LABEL}\.){{1,8}}(?:xn--[\w-]{{2,59}}|[^\W\d_]{{2,24}})(?![\w-])"
    rf"(?::\d{{2,5}})?(?:[/?#](?:{URL})?)?"
    rf"|(?<![\w.@/\\+-])(?:\d{{1,3}}\.){{3}}\d{{1,3}}(?::\d{{2,5}}(?:/(?:{URL})?)?|/(?:{URL})?)")
TOP_LEVEL = frozenset(  # https://www.iana.org/domains/root, of 2025, and what RFC 2606 and RFC 6762 set apart
    Path(__file__).with_name("top_level_domains.txt").read_text(encoding="utf-8").split()
) | {"example", "test", "invalid", "localhost", "local", "internal", "onion", "lan"}
OTHERWISE = frozenset({
    "ac", "ai", "am", "bz", "cc", "java", "md", "mk", "ml", "mov", "pl", "pm", "properties", "ps", "py", "rs",
    "sh", "so", "tf", "zip"})
"""What ends the names of files, or a time, as often as the names of hosts."""
END = re.compile(r"[:/?#]")
SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def is_address(written: str) -> bool:
    """Whether what looks like a host leads somewhere: a file, “is.In” at the end of a sentence, do not."""
    host = END.split(written.rpartition("@")[2])[0]
    last = host.rpartition(".")[2]
    if last.isdecimal():
        return True
    if last.lower() not in TOP_LEVEL:
        return False
    if len(written) > len(host) or host.lower().startswith("www."):
        return True
    is_written_so = last == last.lower() or (host.isupper() and last != "NET")
    return is_written_so and last.lower() not in FUNCTION_WORDS | OTHERWISE


def without_scheme(url: str) -> str:
    """The address as people write it."""
    return SCHEME.sub("", url).removeprefix("www.").rstrip("/")


def host_of(url: str) -> str:
    return END.split(without_scheme(url))[0]
