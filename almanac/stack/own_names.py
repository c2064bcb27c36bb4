"""Keeps strangers' web pages away from a server on this machine that has no such check of its own."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

THIS_SERVER_ONLY = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; frame-ancestors 'self'"


class OwnNamesOnly:
    """Refuses a Host that is not ours (421) and an Origin that is not ours (403)."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self.app = app
        self.hosts = {host.strip("[]").lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["Content-Security-Policy"] = THIS_SERVER_ONLY
            await send(message)

        refusal = self._refusal(Headers(scope=scope)) if scope["type"] in {"http", "websocket"} else None
        await (refusal or self.app)(scope, receive, send_with_policy)

    def _refusal(self, headers: Headers) -> PlainTextResponse | None:
        if hostname("//" + headers.get("host", "")) not in self.hosts:
            return PlainTextResponse("The Host header names none of ALMANAC_HOSTS", 421)
        if "origin" in headers and hostname(headers["origin"]) not in self.hosts:
            return PlainTextResponse("Pages of other hosts may not use this server", 403)
        return None


def hostname(url: str) -> str | None:
    """The host that a URL names, in lower case and without brackets; None for none."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
