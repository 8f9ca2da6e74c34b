"""A process of its own that takes part in a flight: ``python replica.py STORE KEY SECONDS``.

Prints what happens to it, a word and the time a line: ``leads``, ``made``, ``follows``.
"""

from __future__ import annotations

import asyncio
import sys
import time

from app.cache.opening import open_store
from app.cache.programs import Entry, ProgramCache
from app.cache.signing import Signer


def say(word: str) -> None:
    print(word, time.time(), flush=True)


async def main(where: str, l1: str, seconds: float) -> None:
    store = open_store(where)
    cache = ProgramCache(store, Signer(b"k" * 32))

    async def make() -> Entry:
        say("leads")
        await asyncio.sleep(seconds)
        await cache.put(l1, "2" * 64, {}, b"blob")
        say("made")
        return Entry("2" * 64, {}, b"blob")

    say("ready")
    sys.stdin.readline()
    entry, made = await cache.find_or_make(l1, make)
    assert entry.blob == b"blob"
    if not made:
        say("follows")
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
