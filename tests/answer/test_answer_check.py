"""What a model wrote is held against the records: nothing that it made up is shown as if it were theirs."""

import time
from typing import Any
from uuid import uuid4

import pytest

from models.states import DocumentState
from tasks.answer.check import Checked, check, check_against
from tasks.answer.cite import Citation
from tasks.answer.origin import Origin

FERRY = ("The crews of the Tern Line walked out on Monday over pay. “We have waited long enough,” said "
         "Ada Holm, who speaks for forty-two of them.")
PORT = "The port authority said that no ship would be turned away, “whatever happens at the ferry terminal”."
FERRY_URL, PORT_URL = "https://tidings.example/a_(2026)", "https://port.example/news/talks 1#now"


def cited(label: str, text: str, url: str) -> Citation:
    origin = Origin("A title", url, "A source", None, None, None, "hash", 0, len(text))  # type: ignore[arg-type]
    return Citation(uuid4(), label, True, uuid4(), uuid4(), 1, uuid4(), [], text, text, 0, origin, False)


SHOWN = {"K1": cited("K1", FERRY, FERRY_URL), "K2": cited("K2", PORT, PORT_URL)}


def checked(text: str) -> Checked:
    return check(text, SHOWN)


@pytest.mark.parametrize(
    ("written", "shown", "unknown"),
    [
        ("Crews walked out [K1]. Ships sail on [K2].", "Crews walked out [K1]. Ships sail on [K2].", []),
        ("Crews walked out [K9].", "Crews walked out.", ["K9"]),
        ("Crews walked out [K1, K9].", "Crews walked out [K1].", ["K9"]),
        ("Crews walked out [K1][K7].", "Crews walked out [K1].", ["K7"]),
        ("Crews walked out[K0].", "Crews walked out.", ["K0"]),
        ("All of it [K1-K3].", "All of it [K1, K2].", ["K3"]),
        ("All of it [K1\u2013K2].", "All of it [K1\u2013K2].", []),
        ("As [5] and [7] say.", "As and say.", ["5", "7"]),
        ("Crews walked out 【3】.", "Crews walked out.", ["3"]),
        ("Crews walked out [Source 2].", "Crews walked out.", ["Source 2"]),
        ("Crews walked out [k1].", "Crews walked out.", ["k1"]),
        ("Crews walked out [S1].", "Crews walked out.", ["S1"]),
        ("Crews walked out (K1; K5).", "Crews walked out [K1].", ["K5"]),
        ("According to K1 and K8, crews walked out.", "According to K1 and, crews walked out.", ["K8"]),
        ("`row[1]` and ```\nx[9] = K7\n``` stay", "`row[1]` and ```\nx[9] = K7\n``` stay", []),
        ("values[3] of 2026 [in May]", "values[3] of 2026 [in May]", []),
        ("[K3]", "", ["K3"]),
        ("All of it [K1-K9999999999].", "All of it [K1].", ["K9999999999"]),
        ("All of it [K12345].", "All of it.", ["K12345"]),
        ("Crews walked out [K 1], it says [K 9].", "Crews walked out [K 1], it says.", ["K9"]),
    ],
)
def test_only_labels_that_were_shown_stay(written: str, shown: str, unknown: list[str]) -> None:
    told = checked(written)
    assert (told.text, list(told.unknown)) == (shown, unknown)
    assert set(told.labels) <= {"K1", "K2"}


def test_a_bare_word_that_an_excerpt_says_is_no_label() -> None:
    mountain = {"K1": cited("K1", "Nobody climbed K2 in winter before.", FERRY_URL)}
    assert check("K2 was climbed in winter [K1].", mountain).text == "K2 was climbed in winter [K1]."


@pytest.mark.parametrize(
    ("written", "shown", "taken_out"),
    [
        (f"See [the report]({FERRY_URL}).", f"See [the report]({FERRY_URL}).", []),
        ("See [talks](https://port.example/news/talks%201#now).",
         "See [talks](https://port.example/news/talks%201#now).", []),
        (f"See {FERRY_URL}.", f"See {FERRY_URL}.", []),
        ("See [the report](https://made-up.example/x).", "See the report.", ["https://made-up.example/x"]),
        ("See https://made-up.example/x, or not.", "See (address removed), or not.",
         ["https://made-up.example/x"]),
        ("![](https://spy.example/p.gif?q=1) Fine.", "Fine.", ["https://spy.example/p.gif?q=1"]),
        ("[Click](javascript:alert(1)) [K1]", "Click [K1]", ["javascript:alert(1)"]),
        ('<a href="https://evil.example">here</a>', '<a href="(address removed)">here</a>',
         ["https://evil.example"]),
        ("[K1](https://made-up.example/x)", "[K1]", ["https://made-up.example/x"]),
        ("[9](https://made-up.example/x)", "", ["https://made-up.example/x"]),
        ("See http://[::1]/x, or not.", "See (address removed), or not.", ["http://[::1]/x"]),
        ("Ask mailto:x@made-up.example now.", "Ask (address removed) now.", ["mailto:x@made-up.example"]),
        ("Get ftp://made-up.example/x.", "Get (address removed).", ["ftp://made-up.example/x"]),
        ("Read www.made-up.example/x now.", "Read (address removed) now.", ["www.made-up.example/x"]),
        ("Sign in at made-up.com.", "Sign in at (address removed).", ["made-up.com"]),
        ("Sign in at Login.Made-Up.co.uk/a?b=1, now", "Sign in at (address removed), now",
         ["Login.Made-Up.co.uk/a?b=1"]),
        ("Sign in at made-up.test:8080.", "Sign in at (address removed).", ["made-up.test:8080"]),
        ("Sign in at is.in/x", "Sign in at (address removed)", ["is.in/x"]),
        ("Go to 10.0.0.1/admin or 192.168.1.1:8080.", "Go to (address removed) or (address removed).",
         ["10.0.0.1/admin", "192.168.1.1:8080"]),
        ("Ask keeper@tidings.example.", "Ask (address removed).", ["keeper@tidings.example"]),
        ("Go to xn--bcher-kva.example, bücher.de or 例子.中国.",
         "Go to (address removed), (address removed) or (address removed).",
         ["xn--bcher-kva.example", "bücher.de", "例子.中国"]),
        ("Says tidings.example, at www.tidings.example/a_(2026).",
         "Says tidings.example, at www.tidings.example/a_(2026).", []),
        ("Says tidings.example/b.", "Says (address removed).", ["tidings.example/b"]),
    ],
)
def test_only_addresses_of_the_excerpts_stay(written: str, shown: str, taken_out: list[str]) -> None:
    told = checked(written)
    assert (told.text, list(told.addresses)) == (shown, taken_out)


@pytest.mark.parametrize("written", [
    "It walked out.In May it came back.it did, at 9.am, by No.4 and v1.2.3.4 (U.S. and Ph.D., e.g.this).",
    "See README.md, setup.py, archive.zip, page.html, Node.js/Express and ASP.NET.",
    "3.11 of 2026.05.01, 1.2.3.4 and so.to speak",
])
def test_what_is_no_address_is_left_alone(written: str) -> None:
    assert (checked(written).text, checked(written).addresses) == (written, [])


def test_a_name_that_an_excerpt_says_is_left_alone_but_no_address_is() -> None:
    shown = {"K1": cited("K1", "Rooms of Booking.com fell by half. Go to booking.com/deals.", FERRY_URL)}
    assert check("Booking.com fell [K1].", shown).text == "Booking.com fell [K1]."
    for address in ("booking.com/deals", "king.com", "me@booking.com"):
        assert check(f"See {address} [K1].", shown).text == "See (address removed) [K1]."


@pytest.mark.parametrize(
    "written",
    [
        "Holm said “We have waited long enough” [K1].",
        'Holm said "we have waited long enough," she added [K1].',
        "“The crews of the Tern Line … over pay” [K1].",
        "“[The] crews of the Tern Line walked out” [K1].",
        "> no ship would be turned away\n\nsays the port [K2].",
        "The port promised «no ship would be turned away» [K2].",
        "[K2] says that “no ship would be turned away”.",
        "“no   ship would\nbe turned away” [K2]",
        "It is called a “walkout” by some [K1].",
        "Both: “no ship would be turned away” [K1, K2].",
        "`print(\"this is not a quotation\")` [K1]",
    ],
)
def test_a_quotation_that_stands_in_its_excerpt_is_left_alone(written: str) -> None:
    assert checked(written).quotes == []


@pytest.mark.parametrize(
    ("written", "quoted", "problem"),
    [
        ("Holm said “We will never come back” [K1].", "We will never come back",
         "it stands in no excerpt that was shown"),
        ("Holm said “no ship would be turned away” [K1]. The port did [K2].", "no ship would be turned away",
         "it stands in K2, not in K1"),
        ("“over pay … the crews of the Tern Line” [K1]", "over pay … the crews of the Tern Line",
         "it stands in no excerpt that was shown"),
        ("> The crews walked out on Tuesday [K1]", "The crews walked out on Tuesday [K1]",
         "it stands in no excerpt that was shown"),
        ("[K1] has it that “no ship would be turned away”.", "no ship would be turned away",
         "it stands in K2, not in K1"),
        ("„Wir haben lange genug gewartet“ [K1]", "Wir haben lange genug gewartet",
         "it stands in no excerpt that was shown"),
    ],
)
def test_a_quotation_that_does_not_is_flagged(written: str, quoted: str, problem: str) -> None:
    [quote] = checked(written).quotes
    assert (quote.text, quote.problem) == (quoted, problem)
    assert not checked(written).sound


def test_hostile_text_is_checked_in_no_time() -> None:
    for unit in (" ", "[", "[K", "“", '"', "](a", "[K1,", "K1 ", "> ", "`", "(", "https://", "[1-", "…",
                 "a.", "a@", "+", "a-", "a.b@", "1.", "a.com/(", "x.com "):
        began = time.process_time()
        checked(unit * (100_000 // len(unit)))
        assert time.process_time() - began < 2, unit


@pytest.mark.database
def test_a_retrievals_own_record_decides(library: Any) -> None:
    source = library.source()
    library.document(source, "ferry strike", title="one")
    gone = library.document(source, "ferry strike again", title="two")
    library.document(source, "ferry strike once more", title="three")
    found = library.ask("ferry strike", k=2)
    text = "Strike [K1]. Again [K2]. More [K3]. Never [K9]."

    def told(scopes: list[str]) -> Checked | None:
        return check_against(library.db.caller(scopes), found.retrieval_id, text)

    first = told(["library"])
    assert first is not None
    assert (first.text, list(first.unknown)) == ("Strike [K1]. Again [K2]. More. Never.", ["K3", "K9"])
    library.change(gone, state=DocumentState.REMOVED)
    then = told(["library"])
    assert then is not None
    assert (then.text, list(then.unknown)) == ("Strike [K1]. Again. More. Never.", ["K2", "K3", "K9"])
    assert told(["ada"]) is None
    assert check_against(library.db.caller(["library"]), uuid4(), text) is None
