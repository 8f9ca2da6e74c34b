"""The connection to one Redis: short timeouts, a breaker, and the channel on which changes arrive.

Nothing here knows what is stored; ``RedisStore`` does.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import InvalidResponse, RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from app.cache.breaker import Breaker
from app.cache.waking import Waiters
from app.core import logging

CONNECT_S = 0.5
OPERATION_S = 2.0
AT_ONCE = 32
"""Operations under way at once; more wait their turn, so the pool never runs out."""

# ValueError is what redis-py makes of an answer that is no Redis protocol.
_LOST = (RedisConnectionError, RedisTimeoutError, InvalidResponse, OSError, ValueError)


class RedisLink:
    """Runs operations on a Redis that may be away. Made without a running loop, used within one."""

    def __init__(self, url: str, channel: str, waiters: Waiters) -> None:
        self.client = Redis.from_url(
            url,
            protocol=2,
            socket_connect_timeout=CONNECT_S,
            socket_timeout=OPERATION_S,
            retry=Retry(NoBackoff(), 0),
            max_connections=2 * AT_ONCE,
        )
        self.breaker = Breaker("redis", self._probe)
        self._channel = channel
        self._waiters = waiters
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._listener: asyncio.Task[None] | None = None
        self._subscribed = False
        self._log = logging.get("cache")

    @asynccontextmanager
    async def guard(self) -> AsyncIterator[Any]:  # Any: redis hedges between str and bytes
        """The client for one operation; what fails within is ``Unavailable`` to the caller."""
        self.breaker.check()
        async with self._slots:
            self.breaker.check()
            task = asyncio.current_task()
            cancelled = task.cancelling() if task else 0
            try:
                async with asyncio.timeout(OPERATION_S):
                    yield self.client
            except _LOST as error:
                self.breaker.trip(error)
                raise self.breaker.unavailable() from error
            except RedisError as error:
                # It answers, but not this: out of memory, read-only, a key of another type.
                self._log.warning("store refused an operation", store="redis", reason=str(error))
                raise self.breaker.unavailable() from error
            if task and task.cancelling() > cancelled:
                # redis-py 8.1 now and then swallows the cancellation of the task it runs in.
                raise asyncio.CancelledError

    async def script(self, text: str, keys: Sequence[str], args: Sequence[Any]) -> Any:
        """The answer of a Lua script, loaded where Redis does not know it yet."""
        async with self.guard() as client:
            script = client.register_script(text)
            return await cast(Awaitable[Any], script(keys=keys, args=args))

    async def _probe(self) -> None:
        # Connections made before the failure may hang half-open: never probe through one.
        await self.client.connection_pool.disconnect(inuse_connections=False)
        async with asyncio.timeout(2 * CONNECT_S):
            await cast(Awaitable[Any], self.client.ping())

    def listen(self) -> bool:
        """Start to hear of changes made elsewhere; whether they are heard already."""
        if self.breaker.healthy and (self._listener is None or self._listener.done()):
            self._listener = asyncio.get_running_loop().create_task(self._listen())
        return self._subscribed

    async def _listen(self) -> None:
        while True:
            with suppress(RedisError, *_LOST):
                await self._relay()
            await asyncio.sleep(random.uniform(0.1, 0.5))

    async def _relay(self) -> None:
        async with self.client.pubsub(ignore_subscribe_messages=True) as subscription:
            await subscription.subscribe(self._channel)
            self._subscribed = True
            self._waiters.wake_all()
            try:
                while True:
                    message = await subscription.get_message(timeout=5.0)
                    if message is not None:
                        self._waiters.wake(message["data"].decode("utf-8", "replace"))
            finally:
                self._subscribed = False

    async def close(self) -> None:
        """Close every connection and end the background tasks."""
        await self.breaker.close()
        self._waiters.wake_all()
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.wait([self._listener])
        await self.client.aclose()
