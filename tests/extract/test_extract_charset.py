"""The text of a page is right whatever it says of its encoding."""

import json
from pathlib import Path

import pytest

from tasks.extract.charset import decode, encoding_named

SENTENCES = json.loads((Path(__file__).parent / "languages.json").read_text(encoding="utf-8"))
FRENCH, POLISH, RUSSIAN, GREEK, JAPANESE, CHINESE, KOREAN = SENTENCES.values()


def html(text: str, head: str = "", lang: str = "en") -> str:
    return f'<!doctype html><html lang="{lang}"><head>{head}</head><body><p>{text}</p></body></html>'


def meta(charset: str) -> str:
    return f'<meta charset="{charset}">'


HTTP_EQUIV = '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">'


@pytest.mark.parametrize(("page", "encoding", "declared"), [
    # what is declared is right
    (html(FRENCH), "utf-8", "utf-8"),
    (html(FRENCH), "cp1252", "ISO-8859-1"),
    (html(RUSSIAN), "koi8-r", "KOI8-R"),
    (html(JAPANESE), "cp932", "Shift_JIS"),
    (html(CHINESE), "gb18030", "gb2312"),
    (html(RUSSIAN, HTTP_EQUIV), "cp1251", None),
    (html(POLISH, meta("iso-8859-2")), "iso8859-2", None),
    (html(JAPANESE, meta("x-euc-jp")), "euc_jp", ""),
    ('<?xml version="1.0" encoding="ISO-8859-15"?>' + html("5 €"), "iso8859-15", None),
    (html(FRENCH, "x" * 2000 + meta("windows-1252")), "cp1252", None),
    # HTTP is believed before the page, and a byte-order mark before both
    (html(RUSSIAN, meta("windows-1252")), "cp1251", "windows-1251"),
    (html(FRENCH, meta("windows-1251")), "utf-8-sig", "windows-1251"),
    (html(FRENCH, meta("utf-8")), "utf-16", "utf-8"),
    (html(FRENCH, meta("utf-8")), "utf-16-le", "utf-16le"),
    # what is declared is wrong
    (html(FRENCH), "cp1252", "utf-8"),
    (html(FRENCH, meta("utf-8")), "cp1252", None),
    (html(FRENCH, meta("utf-8")), "cp1252", "utf-8"),
    (html(FRENCH, meta("iso-8859-1")), "utf-8", "iso-8859-1"),
    (html(RUSSIAN, meta("windows-1251")), "utf-8", "windows-1251"),
    (html(RUSSIAN, meta("windows-1251")), "cp1251", "utf-8"),
    (html(RUSSIAN), "cp1251", "utf-8"),
    (html(CHINESE), "gb18030", "utf-8"),
    (html(FRENCH, meta("utf-16")), "utf-8", None),
    (html(FRENCH), "utf-8", "utf-16"),
    (html(FRENCH), "utf-8", "no-such-charset"),
    (html(FRENCH), "utf-8", "base64"),
    (html(FRENCH, "<!-- " + meta("koi8-r") + " -->"), "cp1252", None),
    # nothing is declared
    (html(FRENCH), "utf-8", None),
    (html(FRENCH), "cp1252", None),
    (html("Café £"), "cp1252", None),
    (html(POLISH, lang="pl"), "cp1250", None),
    (html(RUSSIAN), "koi8-r", None),
    (html(GREEK), "cp1253", None),
    (html(JAPANESE), "cp932", None),
    (html(KOREAN), "cp949", None),
    ("plain ASCII", "ascii", None),
    ("", "ascii", None),
])
def test_a_page_is_read_as_it_was_written(page: str, encoding: str, declared: str | None) -> None:
    assert decode(page.encode(encoding), declared) == page


def test_one_stray_byte_does_not_change_how_all_the_others_are_read() -> None:
    body = html(RUSSIAN).encode() + b"\xff<p>end"
    assert decode(body, "utf-8") == html(RUSSIAN) + "\ufffd<p>end"


@pytest.mark.parametrize(("label", "encoding"), [
    ("UTF8", "utf-8"), (" latin1 ", "cp1252"), ("us-ascii", "cp1252"), ("x-sjis", "cp932"),
    ("ks_c_5601-1987", "cp949"), ("windows-874", "cp874"), ("iso-8859-9", "cp1254"),
    ("macintosh", "mac-roman"), ("x-gbk", "gb18030"), ("gbk", "gb18030"),
    ("utf-7", None), ("rot13", None), ("zlib", None), ("idna", None), ("unicode_escape", None), ("", None),
    ("a\0b", None), ("\xfc" * 200, None), ("..", None),
    (None, None),
])
def test_a_label_means_what_the_standard_says_and_only_encodings_of_the_web_count(
    label: str | None, encoding: str | None
) -> None:
    assert encoding_named(label) == encoding
