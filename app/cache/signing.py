"""Entries that only this deployment can have written: what a store returns is code in the end.

An entry is version (1 byte), HMAC-SHA-256 (32), length of the metadata (4, big-endian), metadata
(msgpack), content. The MAC covers all of it and the key it lies under, so that an entry copied to
another key does not verify. Nothing behind the MAC is parsed before the MAC has been checked.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack

from app.core import logging

VERSION = 1
SECRET_BYTES = 32
SHORTEST_SECRET = 16
_MAC = slice(1, 33)
_LENGTH = slice(33, 37)
_HEAD = 37


class BadEntryError(ValueError):
    """An entry that is not to be trusted; ``reason`` is one of version, truncated, signature."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The entry was refused: {reason}.")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Opened:
    """An entry whose signature was right."""

    meta: dict[str, Any]
    content: bytes


class Signer:
    """Seals and opens entries with one secret, which never goes to the store."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) < SHORTEST_SECRET:
            raise ValueError(
                f"The signing key has {len(secret)} bytes; give at least {SHORTEST_SECRET}, "
                f"for example the output of `openssl rand -hex {SECRET_BYTES}`."
            )
        self._secret = hmac.digest(secret, b"gradserve entry", "sha256")

    def seal(self, key: str, meta: Mapping[str, Any], content: bytes) -> bytes:
        """The entry to keep under ``key``. O(len(content)): off the event loop when large."""
        packed: bytes = msgpack.Packer().pack(dict(meta))
        length = len(packed).to_bytes(4, "big")
        mac = self._mac(VERSION, key, length, packed, content)
        return b"".join((bytes([VERSION]), mac, length, packed, content))

    def open(self, key: str, entry: bytes) -> Opened:
        """What ``seal`` was given; raises ``BadEntryError`` for anything else."""
        if len(entry) < _HEAD:
            raise BadEntryError("truncated")
        if entry[0] != VERSION:
            raise BadEntryError("version")
        view = memoryview(entry)
        mac = self._mac(VERSION, key, view[_LENGTH], view[_HEAD:])
        if not hmac.compare_digest(mac, entry[_MAC]):
            raise BadEntryError("signature")
        end = _HEAD + int.from_bytes(view[_LENGTH], "big")
        return Opened(msgpack.unpackb(view[_HEAD:end], strict_map_key=False), bytes(view[end:]))

    def _mac(self, version: int, key: str, *parts: bytes | memoryview) -> bytes:
        name = key.encode("utf-8")
        mac = hmac.new(self._secret, digestmod=hashlib.sha256)
        mac.update(bytes([version]) + len(name).to_bytes(4, "big") + name)
        for part in parts:
            mac.update(part)
        return mac.digest()


def load_or_make_key(path: Path) -> bytes:
    """The secret kept in a file of hex digits, made on first use and readable by its owner alone.

    Processes that start at once agree on one key. Raises ``ValueError`` for a file that holds none.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        _make_key(path)
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        logging.get("cache").warning("signing key can be read by others", path=str(path))
    try:
        secret = bytes.fromhex(path.read_text("ascii").strip())
    except ValueError:
        secret = b""
    if len(secret) < SHORTEST_SECRET:
        raise ValueError(f"{path} holds no signing key (hex digits); remove it to have one made.")
    return secret


def _make_key(path: Path) -> None:
    # Written whole under another name, then linked: nobody ever reads half a key.
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    file = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        os.write(file, secrets.token_hex(SECRET_BYTES).encode("ascii") + b"\n")
        os.fsync(file)
    finally:
        os.close(file)
    try:
        os.link(draft, path)
    except FileExistsError:
        pass  # another process was first; its key is the key
    finally:
        draft.unlink()
