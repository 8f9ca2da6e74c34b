"""What Prometheus scrapes: calls as they end, and the pool's and cache's own counters."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)

from app.cache.programs import ProgramCache
from app.compute.pool.protocol import Pool
from app.services.run import RunService

_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """One registry a process."""

    content_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self, pool: Pool, cache: ProgramCache, runs: RunService) -> None:
        self._registry = CollectorRegistry()
        self._calls = _Calls()
        self._registry.register(self._calls)
        self._registry.register(_Parts(pool, cache))
        self._registry.register(_Runs(runs))
        self.called = self._calls.called

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self._registry)


class _Calls:
    """Plain counts of the event loop's own, put into words when scraped: a call costs one each."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, int, str]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}

    def called(self, verb: str, status: int, cache: str, seconds: float) -> None:
        """Count one call."""
        self._counts[verb, status, cache] += 1
        buckets = self._buckets.get(verb)
        if buckets is None:
            buckets = self._buckets[verb] = [0] * (len(_BUCKETS) + 1)
            self._seconds[verb] = 0.0
        buckets[bisect_left(_BUCKETS, seconds)] += 1
        self._seconds[verb] += seconds

    def collect(self) -> Iterator[Any]:
        said = "Calls answered, by verb, status and where the program came from"
        calls = CounterMetricFamily("gradserve_calls", said, labels=("verb", "status", "cache"))
        for (verb, status, cache), count in self._counts.items():
            calls.add_metric([verb, str(status), cache], float(count))
        yield calls
        said = "Seconds from the first byte of a call to the last of its answer"
        seconds = HistogramMetricFamily("gradserve_call_seconds", said, labels=("verb",))
        bounds = [*map(repr, map(float, _BUCKETS)), "+Inf"]
        for verb, buckets in self._buckets.items():
            below = zip(bounds, map(float, accumulate(buckets)), strict=True)
            seconds.add_metric([verb], list(below), self._seconds[verb])
        yield seconds


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


class _Runs:
    """Reads how many runs there are, and how many ended, when scraped."""

    def __init__(self, runs: RunService) -> None:
        self._runs = runs

    def collect(self) -> Iterator[Any]:
        said = "Runs waiting, runs worked on, and listeners to their events, in this process"
        now = GaugeMetricFamily("gradserve_runs_now", said, labels=("state",))
        for state, count in self._runs.status().items():
            now.add_metric([state], float(count))
        yield now
        ended = CounterMetricFamily("gradserve_runs_ended", "Runs ended", labels=("status",))
        for status, count in self._runs.ended().items():
            ended.add_metric([status], float(count))
        yield ended


def _counters(name: str, said: str, counts: dict[str, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(name, said, labels=("event",))
    for event, count in counts.items():
        family.add_metric([event], float(count))
    return family
