"""Ports that nothing listens on, for servers of the tests."""

import socket
from random import SystemRandom

UNLENT = range(10_000, 32_000)  # no system gives these to a client whose port is any, so that they stay free


def free_port(*addresses: str) -> int:
    """A port that is free on each of these addresses of this machine, or else on 127.0.0.1."""
    while True:
        port = SystemRandom().choice(UNLENT)
        if all(is_free(address, port) for address in addresses or ("127.0.0.1",)):
            return port


def is_free(address: str, port: int) -> bool:
    try:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.create_server((address, port), family=family):
            return True
    except OSError:
        return False
