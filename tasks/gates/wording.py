"""What the wording of a version says of it: how much is boilerplate or broken, and if it is an article."""

import re
from collections import Counter
from collections.abc import Sequence

from models.blocks import Block, BlockKind

SHORT = 1500  # characters: a longer text is an article, whatever it mentions
BOILERPLATE = re.compile(
    r"\b(?:cookies?|privacy policy|terms (?:of (?:use|service)|and conditions)|all rights reserved|copyright"
    r"|(?:sign up|subscribe)\b.{0,40}\b(?:newsletter|updates|e-?mail)|newsletter|follow us|share (?:this|on)"
    r"|(?:log|sign) in|create an account|read more|skip to|back to top|click here"
    r"|related (?:articles|posts|stories)|facebook\b.{0,40}\btwitter|advertis(?:e|ing) with us|datenschutz"
    r"|impressum|mentions l\u00e9gales|aviso legal)\b|\u00a9",
    re.IGNORECASE)
CONSENT = re.compile(
    r"\b(?:accept|agree to|consent to|manage|reject)\b.{0,60}\b(?:cookies?|privacy|tracking|partners)\b"
    r"|\bwe (?:and our (?:\d+ )?partners )?(?:use|value|store)\b.{0,60}\b(?:cookies?|privacy|personal data)\b"
    r"|\b(?:alle )?cookies (?:akzeptieren|zulassen)\b|\baccepter (?:tous )?les cookies\b"
    r"|\baceptar (?:todas )?las cookies\b",
    re.IGNORECASE)
ERROR = re.compile(
    r"^\W*(?:(?:error\s*)?[45]\d\d\b|page (?:not found|unavailable)|not found\b|forbidden\b"
    r"|access (?:to this page has been )?denied|(?:internal )?server error|service unavailable|bad gateway"
    r"|gateway time-?out|too many requests|just a moment|attention required|something went wrong"
    r"|(?:sorry,? )?(?:this|the) page (?:you|does|is|could|can)|are you (?:a robot|human)"
    r"|please (?:enable|turn on) javascript|(?:checking|verify).{0,20}(?:your browser|human)"
    r"|seite nicht gefunden|page introuvable)",
    re.IGNORECASE)
BROKEN = re.compile(  # and UTF-8 that was read as windows-1252
    "\ufffd|\u00c3[\u0080-\u00bf\u2018-\u201e\u2020-\u2026]|\u00e2\u20ac[\u0098-\u00a6\u2122\u0153]?")
WORD = re.compile(r"\w+")


def letters(text: str) -> int:
    """How much is said, in characters of words: also of what is written without blanks between them."""
    return sum(map(len, WORD.findall(text)))


def replacement_share(text: str) -> float:
    """The share of the characters that stand for others which were lost, or came from a wrong charset."""
    return sum(map(len, BROKEN.findall(text))) / max(1, len(text))


def boilerplate_share(blocks: Sequence[Block]) -> float:
    """The share of the text that is about the site, or says again what was said before."""
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
