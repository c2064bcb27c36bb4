"""What the wording of a version says about it: how much is boilerplate or broken, and whether it is an article at all."""

import re
from collections import Counter
from collections.abc import Sequence

from models.blocks import Block, BlockKind

SHORT = 1500  # characters: a longer text is an article, whatever it mentions
BOILERPLATE = re.compile(
    r"\bcookies?\b|\bprivacy policy\b|\bterms (?:of (?:use|service)|and conditions)\b|\ball rights reserved\b|\u00a9|\bcopyright\b"
    r"|\b(?:sign up|subscribe)\b.{0,40}\b(?:newsletter|updates|e-?mail)\b|\bnewsletter\b|\bfollow us\b|\bshare (?:this|on)\b"
    r"|\b(?:log|sign) in\b|\bcreate an account\b|\bread more\b|\bskip to\b|\bback to top\b|\bclick here\b|\brelated (?:articles|posts|stories)\b"
    r"|\bfacebook\b.{0,40}\btwitter\b|\badvertis(?:e|ing) with us\b|\bdatenschutz\b|\bimpressum\b|\bmentions l\u00e9gales\b|\baviso legal\b",
    re.IGNORECASE)
CONSENT = re.compile(
    r"\b(?:accept|agree to|consent to|manage|reject)\b.{0,60}\b(?:cookies?|privacy|tracking|partners)\b"
    r"|\bwe (?:and our (?:\d+ )?partners )?(?:use|value|store)\b.{0,60}\b(?:cookies?|privacy|personal data)\b"
    r"|\b(?:alle )?cookies (?:akzeptieren|zulassen)\b|\baccepter (?:tous )?les cookies\b|\baceptar (?:todas )?las cookies\b",
    re.IGNORECASE)
ERROR = re.compile(
    r"^\W*(?:(?:error\s*)?[45]\d\d\b|page (?:not found|unavailable)|not found\b|access (?:to this page has been )?denied|forbidden\b"
    r"|(?:internal )?server error|service unavailable|bad gateway|gateway time-?out|too many requests|just a moment"
    r"|attention required|something went wrong|(?:sorry,? )?(?:this|the) page (?:you|does|is|could|can)|are you (?:a robot|human)"
    r"|please (?:enable|turn on) javascript|(?:checking|verify).{0,20}(?:your browser|human)|seite nicht gefunden|page introuvable)",
    re.IGNORECASE)
SENTENCE = re.compile(r"[.!?\u2026\u3002\uff01\uff1f]['\"\u2019\u201d)]*(?:\s|$)")
BROKEN = re.compile("\ufffd|\u00c3[\u0080-\u00bf\u2018-\u201e\u2020-\u2026]|\u00e2\u20ac[\u0098-\u00a6\u2122\u0153]?")  # and UTF-8 read as windows-1252
WORD = re.compile(r"\w+")


def letters(text: str) -> int:
    """How much is said, in characters of words: also of what is written without blanks between them."""
    return sum(map(len, WORD.findall(text)))


def replacement_share(text: str) -> float:
    """The share of the characters that stand for others which were lost, or came from a wrong charset."""
    return sum(map(len, BROKEN.findall(text))) / max(1, len(text))


def boilerplate_share(blocks: Sequence[Block]) -> float:
    """The share of the text that is about the site or says what was said before: notices, menus, repetitions."""
    seen: Counter[str] = Counter()
    total = about = 0
    for block in blocks:
        seen[block.text] += 1
        total += len(block.text)
        again = seen[block.text] > 1 and block.kind is not BlockKind.CODE
        notice = len(block.text) < 400 and BOILERPLATE.search(block.text)
        about += len(block.text) if again or notice else 0
    return about / max(1, total)


def wall(title: str, blocks: Sequence[Block]) -> str:
    """The words that make a short text a consent wall or an error page; empty where it is neither."""
    text = "\n".join(block.text for block in blocks)
    if len(text) > SHORT:
        return ""
    asks = [block.text for block in blocks if CONSENT.search(block.text)]
    if sum(map(len, asks)) * 2 > len(text):
        return asks[0]
    openings = [title, *(block.text for block in blocks[:1])] if len(text) < SHORT / 3 else [title]
    return next((opening for opening in openings if len(opening) < 200 and ERROR.match(opening)), "")
