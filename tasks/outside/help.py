"""Asking another AI: what the library cannot answer, masked, of whoever may be asked, and kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import monotonic
from uuid import UUID, uuid4

from sqlalchemy import or_, update

from models.external import External, Wanting
from models.session import Database
from models.states import ErrandOutcome
from models.tables import Credential, Errand
from tasks.errors import NeedsCredential, Permanent, StageError, Transient
from tasks.outside import shelf, usage
from tasks.outside.chat import Busy, Chat, Said
from tasks.outside.masking import Masked, mask
from tasks.outside.providers import title_of
from tasks.outside.usage import MINUTE
from tasks.outside.vault import Vault, refuse
from tasks.outside.verdict import NO_ANSWER, judge
from tasks.ports import Embedder, Parser

INSTRUCTIONS = f"""You answer one question of a reader whose own library has no answer.
Answer in the language of the question, in 300 words at most, and say what is uncertain.
Personal details were taken out of the question: words in brackets, such as [name], stand for them. Do not ask
for them, do not guess them, and answer in general.
Give no web addresses and no citations: they could not be checked.
If you do not know, or will not answer, write only: {NO_ANSWER}"""
LONGEST_QUESTION = 2_000  # characters: what is longer is no question, but a text of somebody's
TOO_LONG = (f"the question has more than {LONGEST_QUESTION:,} characters, so no external AI was asked: ask a "
            "shorter one")
NOTHING_LEFT = "nothing is left of the question without its personal details, so no external AI was asked"
CHARACTERS_A_TOKEN = 3
ANSWER_TOKENS = 1_000  # that an answer is guessed to take
LEAST_SECONDS = 1.0  # in which it is worth asking the next
AFTER_TROUBLE = 30.0  # seconds for which one that is away is left alone
LONGEST_REST = 86_400.0
RECENT_HOLDS = timedelta(days=1)  # an answer on the recent


@dataclass(frozen=True, slots=True)
class Help:
    """Implements what ``tasks.answer`` asks of the outside. Thread-safe; called from no event loop."""

    db: Database
    vault: Vault
    chat: Chat
    parser: Parser
    embedder: Callable[[], Embedder]
    names: Sequence[str] = ()  # that are masked
    seconds: float = 60.0  # for all that are asked, together

    def ask(self, wanting: Wanting) -> External | None:
        """An answer that is here already, or of the first who can be asked; None: nobody may be."""
        rows = self.vault.rows(Credential.enabled.is_(True), or_(
            Credential.principal_id == wanting.principal_id, Credential.principal_id.is_(None)))
        if not rows:
            return None
        if len(wanting.query) > LONGEST_QUESTION:
            return External(TOO_LONG)
        masked = mask(wanting.query, self.names)
        if not masked.says_something:
            return External(NOTHING_LEFT)
        if known := shelf.find(self.db, self.embedder(), masked.text, wanting.scopes, wanting.near):
            if known.waits:
                return External(f"{title_of(known.provider)} has answered this before, but {known.waits}")
            provider = title_of(known.provider)
            return External(None, known.text, provider, known.model, known.question, known.document_id,
                            shelf.citation(known.document_id, known.question, provider, known.model),
                            at_home=True)
        return self._first(rows, masked, wanting)

    def _first(self, rows: Sequence[Credential], masked: Masked, wanting: Wanting) -> External:
        """The first answer, in the order of the rows; else why each has none."""
        until, reasons = monotonic() + self.seconds, []
        for row in rows:
            left = until - monotonic()
            told = self._one(row, masked, wanting, left) if left > LEAST_SECONDS else "there was no time left"
            if isinstance(told, External):
                return told
            reasons.append(f"{name_of(row)}: {told}")
        return External(f"no external AI has answered ({'; '.join(reasons)})", asked=masked.text)

    def _one(self, row: Credential, masked: Masked, wanting: Wanting, seconds: float) -> External | str:
        """Its answer, or why there is none."""
        try:
            key = self.vault.key_of(row)
        except Permanent as error:
            return error.reason
        if row.refused:
            return row.refused
        tokens = guess(masked.text)
        taken = usage.take(self.db, self.vault.minutes, row, tokens, datetime.now(UTC))
        if isinstance(taken, str):
            return taken
        errand_id = self._sent(row, masked, wanting)
        try:
            said = self.chat.ask(row.url, key, row.model, messages(masked.text), seconds)
        except StageError as error:
            self._rest(row, error)
            self._ended(errand_id, ErrandOutcome.FAILED, reason=error.reason)
            return error.reason
        usage.settle(self.db, taken, spent(said, masked.text))
        return self._kept(row, errand_id, said, masked, wanting)

    def _kept(
        self, row: Credential, errand_id: UUID, said: Said, masked: Masked, wanting: Wanting
    ) -> External | str:
        verdict = judge(said)
        text = wanting.clean(verdict.text) if verdict.text else None
        if not text:
            reason = verdict.reason or "what it answered makes no sense"
            self._ended(errand_id, ErrandOutcome.REFUSED, reason=reason, tokens=said.tokens)
            named = f"{name_of(row)} was asked: {reason}"
            return External(named, asked=masked.text) if verdict.final else reason
        now, provider = datetime.now(UTC), title_of(row.provider)
        expires_at = now + RECENT_HOLDS if wanting.recent else None
        try:
            document_id = shelf.keep(
                self.db, self.parser, masked.text, text, wanting.scopes, shelf.author(provider, row.model),
                now, expires_at)
        except StageError as error:
            self._ended(errand_id, ErrandOutcome.REFUSED, reason=error.reason, tokens=said.tokens)
            return error.reason
        self._ended(errand_id, ErrandOutcome.ANSWERED, tokens=said.tokens, document_id=document_id)
        return External(None, text, provider, row.model, masked.text, document_id,
                        shelf.citation(document_id, masked.text, provider, row.model),
                        was_cut=verdict.was_cut)

    def _rest(self, row: Credential, error: StageError) -> None:
        """What becomes of a credential that failed: 429 is a full minute used, and so on."""
        if isinstance(error, NeedsCredential):
            refuse(self.db, row.id, error.reason)
        elif isinstance(error, Transient):
            asked = error.retry_after.total_seconds() if error.retry_after else 0.0
            least = MINUTE if isinstance(error, Busy) else AFTER_TROUBLE
            self.vault.minutes.rest(row.id, min(max(least, asked), LONGEST_REST))

    def _sent(self, row: Credential, masked: Masked, wanting: Wanting) -> UUID:
        """On record before it leaves."""
        errand = Errand(
            id=uuid4(), retrieval_id=wanting.retrieval_id, principal_id=wanting.principal_id,
            scopes=sorted(set(wanting.scopes)), credential_id=row.id, provider=row.provider, model=row.model,
            question=masked.text, outcome=ErrandOutcome.SENT, sent_at=datetime.now(UTC))
        with self.db.begin() as session:
            session.add(errand)
        return errand.id

    def _ended(self, errand_id: UUID, outcome: ErrandOutcome, **values: object) -> None:
        self.db.execute(update(Errand).where(Errand.id == errand_id).values(
            outcome=outcome, ended_at=datetime.now(UTC), **values))


def messages(question: str) -> list[dict[str, str]]:
    """All that leaves: what we want, and the question."""
    return [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": question}]


def guess(question: str) -> int:
    return (len(INSTRUCTIONS) + len(question)) // CHARACTERS_A_TOKEN + ANSWER_TOKENS


def spent(said: Said, question: str) -> int:
    """What its provider reports; where it does not, a guess by what came."""
    return said.tokens or guess(question) - ANSWER_TOKENS + len(said.text) // CHARACTERS_A_TOKEN


def name_of(row: Credential) -> str:
    return f"{title_of(row.provider)} …{row.last_four}" if row.last_four else title_of(row.provider)
