"""What every request passes before anything looks at it: the Host it names and the size of its body."""

from collections.abc import Iterable, Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from almanac.api.docs import NOTHING
from almanac.api.problems import Problem, problem_response

LARGEST_BODY = 1_000_000


class Gate:
    """Refuses a Host that is not ours (421: a rebound DNS name reaches nothing) and a large body (413)."""

    def __init__(
        self, app: ASGIApp, hosts: Iterable[str], largest_body: int = LARGEST_BODY,
        larger: Mapping[str, int] | None = None,
    ) -> None:
        """``larger`` are the bodies of some routes, by the beginning of their path."""
        self.app = app
        self.hosts = {host.lower() for host in hosts}
        self.largest_body = largest_body
        self.larger = larger or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        largest = next((size for path, size in self.larger.items() if scope["path"].startswith(path)),
                       self.largest_body)
        if without_port(headers.get("host", "")) not in self.hosts:
            refusal = problem_response(421, "The Host header names none of this Almanac's hosts: use one of "
                                       "ALMANAC_HOSTS, or add this one there.", "misdirected")
            await refusal(scope, receive, send)
        elif declared_length(headers) > largest:
            refusal = problem_response(413, too_large(largest), "too_large")
            await refusal(scope, receive, send)
        else:
            await self.app(scope, counted(receive, largest), guarded(send))


def counted(receive: Receive, largest: int) -> Receive:
    """``receive`` that stops a body which grows too large without having said so."""
    received = 0

    async def receive_some() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > largest:
            raise Problem(413, too_large(largest))
        return message

    return receive_some


def too_large(largest: int) -> str:
    return f"The body may hold {largest:,} bytes at most."


def guarded(send: Send) -> Send:
    """``send`` with the headers of every answer: browsers neither keep it nor guess at it nor run it."""

    async def send_some(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["X-Content-Type-Options"] = "nosniff"
            headers["Cache-Control"] = "no-store"
            headers.setdefault("Content-Security-Policy", NOTHING)
        await send(message)

    return send_some


def without_port(host: str) -> str:
    """``localhost:8420`` and ``[::1]:8420`` without their port, in lower case."""
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdigit() else host.lower()


def declared_length(headers: Headers) -> int:
    length = headers.get("content-length", "")
    return int(length) if length.isdigit() else 0
