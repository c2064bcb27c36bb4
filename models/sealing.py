"""Secrets at rest: sealed with AES-256-GCM under a master key, for one record and no other."""

import base64
import binascii
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FORMAT = b"\x01"
KEY_BYTES, ID_BYTES, NONCE_BYTES, TAG_BYTES = 32, 8, 12, 16
BODY = len(FORMAT) + ID_BYTES  # where the nonce begins
SEALED = "sealed"  # the one field of a secret among plain JSON


class NotOpened(Exception):
    """A secret that cannot be had; the message is one sentence, without anything of it."""


class KeyLost(NotOpened):
    """The master key that a record is sealed under is not here."""


class Tampered(NotOpened):
    """The record is not what was sealed, or not where it was sealed."""


class KeyRing:
    """Master keys: the first seals, each opens what it has sealed. Thread-safe; shows nothing of the keys."""

    __slots__ = ("_current", "_keys")

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = {id_of(key): AESGCM(key) for key in keys}
        self._current = id_of(keys[0]) if keys else None

    def __len__(self) -> int:
        return len(self._keys)

    def seal(self, secret: str, record: Sequence[str]) -> bytes:
        """The secret under the newest key, for the record of this identity. Raises KeyLost without a key."""
        if self._current is None:
            raise KeyLost("there is no master key: put it back, or start Almanac again, which makes one")
        key, header = self._keys[self._current], FORMAT + self._current
        nonce = os.urandom(NONCE_BYTES)
        return header + nonce + key.encrypt(nonce, secret.encode(), bound(header, record))

    def open(self, sealed: bytes, record: Sequence[str]) -> str:
        """The secret of a record. Raises KeyLost, and Tampered for what was changed, cut or moved here."""
        header, nonce = sealed[:BODY], sealed[BODY:BODY + NONCE_BYTES]
        if len(sealed) < BODY + NONCE_BYTES + TAG_BYTES or header[:1] != FORMAT:
            raise Tampered("the record is not whole")
        if (key := self._keys.get(header[1:])) is None:
            raise KeyLost(f"it is sealed under the master key {header[1:].hex()}, which is not here")
        try:
            return key.decrypt(nonce, sealed[BODY + NONCE_BYTES:], bound(header, record)).decode()
        except InvalidTag:
            raise Tampered("the record was changed since it was sealed, or belongs to another") from None

    def holds(self, sealed: bytes) -> bool:
        """Whether the key is here that this is sealed under."""
        return sealed[len(FORMAT):BODY] in self._keys

    def is_current(self, sealed: bytes) -> bool:
        """Whether it is sealed under the newest key."""
        return sealed[:BODY] == FORMAT + (self._current or b"")


def bound(header: bytes, record: Sequence[str]) -> bytes:
    """The associated data: format, key and each part of the record's identity, which nothing can run into."""
    parts = (part.encode() for part in record)
    return header + b"".join(len(part).to_bytes(4) + part for part in parts)


def id_of(key: bytes) -> bytes:
    return hashlib.sha256(b"almanac master key\0" + key).digest()[:ID_BYTES]


def keys_of(text: str) -> list[bytes]:
    """Keys as they are written: base64 of 32 bytes each, the newest first. Raises ValueError."""
    keys = []
    for written in re.split(r"[\s,]+", text.strip()):
        try:
            keys.append(base64.b64decode(written, altchars=b"-_" if {*"-_"} & {*written} else None,
                                         validate=True))
        except (binascii.Error, ValueError):
            raise ValueError("a master key is base64 of 32 bytes") from None
        if len(keys[-1]) != KEY_BYTES:
            raise ValueError(f"a master key is base64 of 32 bytes, not of {len(keys[-1])}")
    return keys


def written(key: bytes) -> str:
    return base64.b64encode(key).decode()


def new_key() -> bytes:
    return os.urandom(KEY_BYTES)


# Secrets among plain JSON: {"authorization": {"sealed": "…"}}

def seal_values(ring: KeyRing, values: Mapping[str, str], record: Sequence[str]) -> dict[str, Any]:
    """Each value sealed for the record and its own name."""
    return {name: {SEALED: written(ring.seal(value, (*record, name)))} for name, value in values.items()}


def open_values(ring: KeyRing, stored: Mapping[str, Any], record: Sequence[str]) -> dict[str, str]:
    """What ``seal_values`` has sealed; what was stored before there were keys is plain. Raises NotOpened."""
    return {name: ring.open(sealed_in(value), (*record, name)) if is_sealed(value) else value
            for name, value in stored.items()}


def is_sealed(value: Any) -> bool:
    return isinstance(value, dict)


def sealed_in(value: Mapping[str, str]) -> bytes:
    """Raises Tampered for what cannot have been sealed."""
    try:
        return base64.b64decode(value[SEALED], validate=True)
    except (KeyError, TypeError, ValueError):
        raise Tampered("the record is not whole") from None
