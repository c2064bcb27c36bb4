"""Connecting: names are looked up here and nowhere else, and only an address that was checked is dialled."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NoReturn

import httpcore
from httpcore import SOCKET_OPTION

from models.hosts import is_ip
from tasks.web.failures import Content, of_content
from tasks.web.policy import Policy

MAX_ADDRESSES = 4  # of one name, tried in turn

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Host and port to IP addresses, best first. Raises OSError when the name has none."""


async def look_up(host: str, port: int) -> list[str]:
    """The addresses that the system's resolver gives for a name."""
    answers = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(answer[4][0]) for answer in answers))


class GuardedBackend(httpcore.AnyIOBackend):
    """The network as httpcore sees it: every connection is decided here, at the moment it is made.

    One refused answer refuses the name: which of several addresses is dialled must not be left to luck.
    """

    def __init__(self, policy: Policy, resolver: Resolver | None = None) -> None:
        self._policy = policy
        self._resolver = resolver or look_up

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """Every address of ``host``, all checked. Raises Unsafe, and Transient for a name without any."""
        self._policy.check_host(host, port)
        try:
            found = [host] if is_ip(host) else await self._resolver(host, port)
        except OSError as error:
            raise of_content(Content.NO_SUCH_NAME) from error
        for ip in found:
            self._policy.check_ip(ip, host, port)
        if not found:
            raise of_content(Content.NO_SUCH_NAME)
        return found

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                found = (await self.addresses(host, port))[:MAX_ADDRESSES]
                share = timeout and timeout / len(found)
                *others, last = found
                for ip in others:
                    try:
                        return await super().connect_tcp(ip, port, share, local_address, socket_options)
                    except (httpcore.ConnectError, httpcore.ConnectTimeout):
                        continue
                return await super().connect_tcp(last, port, share, local_address, socket_options)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout from error

    async def connect_unix_socket(self, *_: object, **__: object) -> NoReturn:
        raise NotImplementedError("the web is not behind a Unix socket")
