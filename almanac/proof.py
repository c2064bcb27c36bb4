"""How who answers shows that it holds the data folder's token, before it is told it."""

import hmac


def proof(token: str, port: int | None, challenge: str) -> str:
    """The HMAC (RFC 2104, SHA-256, hexadecimal) of a ``challenge`` that was never used before.

    ``port`` is where it was answered: a stranger who passes the challenge on to the API gets no proof for
    his own.
    """
    return hmac.new(token.encode(), f"{port} {challenge}".encode(), "sha256").hexdigest()
