"""Asks our own services on this machine how they are; never through a proxy."""

import json
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

SECONDS = 2.0


def get(url: str, seconds: float = SECONDS) -> tuple[int, bytes] | None:
    """Status and body of ``url``; None when nothing answers in time."""
    parts = urlsplit(url)
    protocol = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = protocol(parts.hostname or "", parts.port, timeout=seconds)
    try:
        connection.request("GET", parts.path or "/")
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()


def answers(url: str) -> bool:
    answer = get(url)
    return answer is not None and answer[0] == 200


def get_json(url: str) -> dict[str, Any] | None:
    """The JSON object at ``url``, whatever its status; None when there is none."""
    answer = get(url)
    try:
        document = json.loads(answer[1]) if answer else None
    except ValueError:
        return None
    return document if isinstance(document, dict) else None
