"""Failures, named for what to do next; the message is one sentence that says why.

Foreign exceptions are translated once, at the adapter. An expected "no" is a value, never one of these.
"""

from datetime import timedelta


class StageError(Exception):
    """The base: something in a stage went wrong, and ``reason`` says what."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Transient(StageError):
    """Try again later; ``retry_after`` is the wait that the other side asked for."""

    def __init__(self, reason: str, retry_after: timedelta | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class Postponed(Transient):
    """Not tried at all: the other side wants to be left alone, or others are first. Costs no attempt."""


class Away(Transient):
    """A service of the owner's that is needed for it does not work now."""


class Permanent(StageError):
    """Trying again will not help: gone, refused, too large, of the wrong type."""


class NeedsBrowser(StageError):
    """There is no text to extract until a browser has rendered the page."""


class NeedsCredential(StageError):
    """The other side wants a key that we do not hold."""


class Unsafe(StageError):
    """The address policy refused; the reason says the class of address, never the address resolved."""


class Rejected(StageError):
    """A gate refused it, for every reason listed."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons
