"""What Prometheus scrapes: calls as they end, and the pool's and cache's own counters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from app.cache.programs import ProgramCache
from app.compute.pool.protocol import Pool

_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """One registry a process."""

    content_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self, pool: Pool, cache: ProgramCache) -> None:
        self._registry = CollectorRegistry()
        self._calls = Counter(
            "gradserve_calls",
            "Calls answered, by verb, status and where the program came from",
            ("verb", "status", "cache"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "gradserve_call_seconds",
            "Seconds from the first byte of a call to the last of its answer",
            ("verb",),
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._registry.register(_Parts(pool, cache))
        self._held: dict[tuple[str, int, str], tuple[Counter, Histogram]] = {}

    def called(self, verb: str, status: int, cache: str, seconds: float) -> None:
        """Count one call."""
        kind = (verb, status, cache)
        held = self._held.get(kind)
        if held is None:
            counter = self._calls.labels(verb, str(status), cache)
            held = self._held[kind] = (counter, self._seconds.labels(verb))
        held[0].inc()
        held[1].observe(seconds)

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self._registry)


class _Parts:
    """Reads the counters of pool and cache when scraped."""

    def __init__(self, pool: Pool, cache: ProgramCache) -> None:
        self._pool = pool
        self._cache = cache

    def collect(self) -> Iterator[Any]:
        cache = self._cache.status()
        yield _counters("gradserve_cache", "Program cache events", cache["counters"])
        up = GaugeMetricFamily("gradserve_store_up", "Whether the store can be reached")
        up.add_metric([], float(cache["store"]["state"] == "ok"))
        yield up
        pool = self._pool.status()
        yield _counters("gradserve_pool", "Pool events", pool["counters"])
        ready = GaugeMetricFamily("gradserve_pool_ready", "Whether the pool takes work")
        ready.add_metric([], float(bool(pool["ready"])))
        yield ready


def _counters(name: str, said: str, counts: dict[str, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(name, said, labels=("event",))
    for event, count in counts.items():
        family.add_metric([event], float(count))
    return family
