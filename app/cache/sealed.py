"""Signed values of one namespace: a store's ``get`` and ``put`` with the signature around them.

For programs, and for arrays, functions and results that services keep. ``Unavailable`` goes
through; an entry that does not verify is a miss, counted by reason and logged.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any

from app.cache.signing import BadEntryError, Opened, Signer
from app.cache.store import Lease, Store
from app.core import logging

OFF_LOOP_BYTES = 256 << 10
"""Signing this many bytes takes about 0.2 ms; more of them leave the event loop."""


class SealedValues:
    """Metadata and content by key, in one namespace of a store."""

    def __init__(self, store: Store, signer: Signer, namespace: str) -> None:
        self.refused: Counter[str] = Counter()
        self._store = store
        self._signer = signer
        self._namespace = namespace
        self._log = logging.get("cache")

    async def get(self, key: str) -> Opened | None:
        """The value, if it is there and was written with our secret under this key."""
        entry = await self._store.get(self._namespace, key)
        if entry is None:
            return None
        try:
            if len(entry) < OFF_LOOP_BYTES:
                return self._signer.open(self._bound(key), entry)
            return await asyncio.to_thread(self._signer.open, self._bound(key), entry)
        except BadEntryError as error:
            self.refused[error.reason] += 1
            self._log.warning(
                "entry refused", namespace=self._namespace, key=key, reason=error.reason
            )
            return None

    async def put(
        self,
        key: str,
        meta: Mapping[str, Any],
        content: bytes = b"",
        *,
        ttl: float | None = None,
        fence: Lease | None = None,
    ) -> bool:
        """Keep a value; ``False`` when ``fence`` is no longer held. Raises ``TooLarge``."""
        entry = await self._seal(key, meta, content)
        return await self._store.put(self._namespace, key, entry, ttl=ttl, fence=fence)

    async def put_if_absent(
        self, key: str, meta: Mapping[str, Any], content: bytes = b"", *, ttl: float | None = None
    ) -> bool:
        """Keep a value where there is none; ``False`` when there is, even one that is refused."""
        entry = await self._seal(key, meta, content)
        return await self._store.put_if_absent(self._namespace, key, entry, ttl=ttl)

    async def delete(self, key: str) -> bool:
        """Whether there was a value to delete."""
        return await self._store.delete(self._namespace, key)

    async def _seal(self, key: str, meta: Mapping[str, Any], content: bytes) -> bytes:
        if len(content) < OFF_LOOP_BYTES:
            return self._signer.seal(self._bound(key), meta, content)
        return await asyncio.to_thread(self._signer.seal, self._bound(key), meta, content)

    def _bound(self, key: str) -> str:
        return f"{self._namespace}/{key}"
