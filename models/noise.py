"""What changes on a page at each look and says nothing new: clocks, counters, ages, today's date, adverts.

A figure in a sentence is never noise. Only a line that is nothing but a label and a counter or a time is left
out, and in all other text only what tells how long ago something was, a clock that shows its seconds and, in
a short line, the date of the day on which the page was read.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from functools import lru_cache

from models.blocks import SEPARATOR, Block, BlockKind, digest

SHORT = 12  # words of a line in which the date of the day is noise
LINE = 30  # words: what is longer is prose, and not looked at piece by piece
ADVERT = 40  # words that may follow a label of advertising
DROPPED = "\N{HORIZONTAL ELLIPSIS}"

UNIT = (
    r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|years?|s|m|h|d|w"
    r"|sekunden?|minuten?|stunden?|tage?n?|wochen?|monate?n?|jahre?n?|secondes?|heures?|jours?|semaines?|mois|ans?"
    r"|segundos?|minutos?|horas?|d\u00edas?|semanas?|mes(?:es)?|a\u00f1os?|secondi|minuti|or[ae]|giorn[oi])"
)
AMOUNT = r"(?:\d+|an?|one|two|three|few|a few|einer|einem|une?|un[ao]?)"
AGO = re.compile(
    rf"\b{AMOUNT}\s*{UNIT}\s+(?:ago|fa)\b|\b(?:vor|il y a|hace)\s+{AMOUNT}\s+{UNIT}\b"
    r"|\bjust now\b|\bmoments? ago\b",
    re.IGNORECASE)
SECONDS = re.compile(r"\b\d{1,2}:\d\d:\d\d(?:\.\d+)?(?:\s?[ap]\.?m\.?)?(?:\s?(?:UTC|GMT|[A-Z]{2,4}T)\b)?")
CLOCK = re.compile(
    r"\b\d{1,2}[:.h]\d\d(?:\s?[ap]\.?m\b\.?)?(?:\s?(?:UTC|GMT|Uhr|[A-Z]{2,4}T)\b)?", re.IGNORECASE)
NUMBER = r"\d[\d.,\u00a0\u202f']*\s?[kKmM]?"
COUNTED = (
    r"(?:views?|reads?|readers?|comments?|replies|shares?|likes?|reactions?|votes?|points?|downloads?|visitors?|visits?"
    r"|hits?|followers?|subscribers?|users?|guests?|people|members?|online|min(?:ute)?s? read"
    r"|aufrufe?|kommentare?|leser|besucher|vues?|commentaires?|lectures?|vistas?|comentarios?|lecturas?|visualizzazioni|commenti)"
)
COUNTER = re.compile(
    rf"\b(?:read|viewed|shared|downloaded|played|visited|gelesen|lu|le\u00eddo|letto)\s+{NUMBER}\s*(?:times|x|mal|fois|veces|volte)\b"
    rf"|\b{NUMBER}\s*(?:times|mal)\s+(?:read|viewed|gelesen)\b"
    rf"|\b{NUMBER}\s*{COUNTED}\b|\b{COUNTED}\s*[:(]?\s*{NUMBER}\)?"
    rf"|\b(?:visitor|request|page|build)\s+(?:number|no\.?|id)\s*:?\s*[\w-]*\d[\w-]*"
    rf"|\bgenerated in\s+{NUMBER}\s*(?:ms|s|seconds?)\b",
    re.IGNORECASE)
LABELS = frozenset(re.findall(r"\S+", """
a about ago all am and are as at been by currently date for generated has have here in is it just last latest
local modified most much now of on online page posted pm published read reading refreshed right since so story
the these this time times to today today's total updated up viewed was were you your article far already
um uhr zuletzt aktualisiert stand heute jetzt seite artikel wurde
mis \u00e0 jour le la maintenant hoy actualizado
"""))
WORD = re.compile(r"[^\W\d_][\w']*")
PARTS = re.compile(r"[\u00b7\u2022|\n;]|[,/](?!\d)|\s[-\u2013\u2014]\s")
SPONSORED = re.compile(
    r"(?:sponsored|advertisement|advertorial|anzeige|werbung|promoted|ad|paid (?:content|post|partnership)"
    r"|partner content|publicit\u00e9|publicidad|patrocinado|sponsoris\u00e9|pubblicit\u00e0)"
    r"(?:\s+(?:content|post|links?|by|von|par|por)\b.*|\s*[:\u00b7|\u2013\u2014-].*|)",
    re.IGNORECASE | re.DOTALL)
LABEL_ALONE = re.compile(r"[^\s:]+(?:\s+(?:content|post|partnership|links?))?\s*:?")
MONTHS = (
    "january february march april may june july august september october november december",
    "januar februar m\u00e4rz april mai juni juli august september oktober november dezember",
    "janvier f\u00e9vrier mars avril mai juin juillet ao\u00fbt septembre octobre novembre d\u00e9cembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
)
WEEKDAY = r"(?:\b[^\W\d]{3,10}\.?,?\s+)?"


def essence(blocks: Iterable[Block], day: date) -> str:
    """The digest of what the blocks say but for the noise, as read on ``day``."""
    kept = list(filter(None, calm(blocks, day)))
    return digest(SEPARATOR.join(kept))


def calm(blocks: Iterable[Block], day: date) -> Iterator[str]:
    """Each block's text without noise; nothing of one that is noise altogether."""
    announced = False
    for block in blocks:
        if announced and len(block.text.split()) <= ADVERT and block.kind is not BlockKind.HEADING:
            announced = False
            continue
        announced = False
        if is_advert(block.text):
            announced = LABEL_ALONE.fullmatch(block.text.strip()) is not None
            continue
        yield calmed(block, day)


def is_advert(text: str) -> bool:
    return len(text.split()) <= ADVERT and SPONSORED.fullmatch(text.strip()) is not None


def calmed(block: Block, day: date) -> str:
    if block.kind is BlockKind.CODE:
        return block.text
    text = SECONDS.sub(DROPPED, AGO.sub(DROPPED, block.text))
    words = len(text.split())
    if words <= SHORT:
        text = dates(day).sub(DROPPED, text)
    if words > LINE or block.kind is BlockKind.TABLE:
        return text
    return DROPPED.join(part.strip() for part in PARTS.split(text) if part.strip() and not is_noise(part))


def is_noise(part: str) -> bool:
    """A label with a counter or a time, and nothing else."""
    rest = CLOCK.sub(DROPPED, COUNTER.sub(DROPPED, part))
    return DROPPED in rest and all(word.lower() in LABELS for word in WORD.findall(rest)) \
        and not re.search(r"\d", rest)


@lru_cache(maxsize=64)
def dates(day: date) -> re.Pattern[str]:
    """The day, the one before and the one after (zones differ), as they are written in some languages."""
    return re.compile("|".join(
        written for days in (-1, 0, 1) for written in spellings(day + timedelta(days=days))), re.IGNORECASE)


def spellings(day: date) -> Iterator[str]:
    names = {names.split()[day.month - 1] for names in MONTHS}
    month = "(?:" + "|".join(sorted(names | {name[:3] for name in names}, reverse=True)) + r")\.?"
    yield rf"{WEEKDAY}\b0?{day.day}(?:st|nd|rd|th|\.)?\s+(?:de\s+)?{month}(?:,?\s+(?:de\s+)?{day.year})?\b"
    yield rf"{WEEKDAY}\b{month}\s+0?{day.day}(?:st|nd|rd|th)?(?:,?\s+{day.year})?\b"
    yield rf"\b{day.year}[-/.]0?{day.month}[-/.]0?{day.day}\b"
    yield rf"\b0?{day.day}[-/.]0?{day.month}[-/.](?:{day.year}|{day.year % 100:02d})\b"
    yield rf"\b0?{day.month}/0?{day.day}/(?:{day.year}|{day.year % 100:02d})\b"
