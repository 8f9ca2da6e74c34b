"""Solvers in chunks of steps: progress, cancel and checkpoints between compiled programs.

A solver verb with the option ``phase`` compiles to three programs over a state that is a list of
arrays: ``init``, ``advance`` (at most ``steps`` of them) and ``finish``. Chunks do the very steps
of the whole, so a run that went on from a checkpoint ends as an undisturbed one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from app.compute.image import Resident
from app.compute.pool.protocol import RunResult
from app.compute.spec import ProgramSpec
from app.core.errors import DeadlineExceeded, Unavailable
from app.core.values import Aval, aval_of, unflatten
from app.services.call import Answer, CallService, RunOptions
from app.services.matrix import Matrix
from app.services.program import FoundProgram, ProgramService, program_id
from app.services.runs import packing
from app.services.runs.forecast import Forecast
from app.services.runs.hold import Hold
from app.services.runs.journal import Checkpoint, Journal
from app.services.runs.pace import Pace
from app.services.runs.progress import Progress

CHUNKED_VERBS = frozenset({"minimize", "root", "least_squares", "fixed_point", "ode", "fit"})
WHOLE_OPTIONS = ("loss",)
"""Options of these verbs that are computed in one piece: the gradient of a loss behind an ode."""
RESIDENT_BYTES = 64 << 10
"""Arguments of more bytes stay on the device between chunks."""
CHECKPOINT_S = 1.0
CHECKPOINT_SHARE = 50
"""A checkpoint that took a second to keep is followed by the next after this many."""
SHOWN_ENTRIES = 16


@dataclass(frozen=True, slots=True)
class Told:
    """What ``init`` and ``advance`` give: the state and how far it is."""

    state: list[np.ndarray]
    progress: dict[str, Any]
    done: bool


class Keeper:
    """Keeps checkpoints beside the solving, one at a time and not too often."""

    def __init__(self, journal: Journal, run_id: str, hold: Hold) -> None:
        self._journal = journal
        self._run_id = run_id
        self._hold = hold
        self._keeping: asyncio.Task[None] | None = None
        self._next = time.monotonic() + CHECKPOINT_S

    def offer(self, point: Checkpoint) -> None:
        """Keep this one, unless another is being kept or was lately."""
        busy = self._keeping is not None and not self._keeping.done()
        if not busy and time.monotonic() >= self._next:
            self._keeping = asyncio.get_running_loop().create_task(self._keep(point))

    async def _keep(self, point: Checkpoint) -> None:
        begun = time.monotonic()
        try:
            if not await self._journal.keep_checkpoint(self._run_id, point, self._hold.lease):
                self._hold.stop("lost")
        except Unavailable:
            pass  # the one before stays; a later one will be kept
        ended = time.monotonic()
        self._next = ended + max(CHECKPOINT_S, CHECKPOINT_SHARE * (ended - begun))

    async def close(self, point: Checkpoint | None) -> None:
        """Keep a last one where the run is to go on elsewhere; keep nothing more."""
        if self._keeping is not None:
            await asyncio.wait([self._keeping])
        if point is not None and self._hold.reason == "drained":
            await self._keep(point)


class Chunks:
    """Runs solver verbs phase by phase."""

    def __init__(
        self, journal: Journal, calls: CallService, programs: ProgramService, limit_s: float
    ) -> None:
        self._journal = journal
        self._calls = calls
        self._programs = programs
        self._limit_s = limit_s

    async def solve(
        self,
        run_id: str,
        spec: ProgramSpec,
        leaves: list[Any],
        options: RunOptions,
        progress: Progress,
        hold: Hold,
    ) -> Answer:
        """The answer of a solver verb, from its last checkpoint where there is one."""
        leaves = _resident(run_id, leaves)
        progress.tell({"phase": "compiling"})
        point = await self._journal.checkpoint(run_id)
        if point is None:
            found = await self._programs.find(phase_spec(spec, "init"))
            found, result = await self._execute(found, leaves, options)
            point = Checkpoint(told_by(found, result).state, 1, 0.0)
        advance = await self._programs.find(phase_spec(spec, "advance", point.leaves))
        finishing = asyncio.create_task(
            self._programs.find(phase_spec(spec, "finish", point.leaves))
        )
        keeper = Keeper(self._journal, run_id, hold)
        try:
            state = await self._advance(advance, leaves, options, point, progress, keeper)
            if not finishing.done():
                progress.amend({"phase": "compiling"})
            found = await finishing
        finally:
            finishing.cancel()
        inputs = [*leaves, *state]
        found, result = await self._execute(found, inputs, options)
        answer = await self._calls.tell(found, result, inputs, options)
        await self._programs.keep(spec)
        fields = {**answer.fields, "program": program_id(spec.key()), "cache": advance.cache}
        return replace(answer, fields=fields)

    async def _execute(
        self,
        found: FoundProgram,
        leaves: list[Any],
        options: RunOptions,
        left: float | None = None,
    ) -> tuple[FoundProgram, RunResult]:
        """Run one phase within what is ``left`` of the run's limit, in seconds; all of it first."""
        limit = options.limit(self._limit_s)
        within = replace(options, timeout_s=limit if left is None else left)
        try:
            return await self._calls.execute(found, leaves, within)
        except DeadlineExceeded:
            # The worker knows the limit of this piece alone.
            raise _overdue(limit) from None

    async def _advance(
        self,
        advance: FoundProgram,
        leaves: list[Any],
        options: RunOptions,
        point: Checkpoint,
        progress: Progress,
        keeper: Keeper,
    ) -> list[np.ndarray]:
        """The state when the solver is done."""
        limit = options.limit(self._limit_s)
        pace, begun = Pace(point.steps), time.monotonic()
        forecast = Forecast()
        last: Checkpoint | None = point
        try:
            while True:
                left = _left(limit, last.elapsed)
                steps = np.array(pace.steps, np.int32)
                sent = time.perf_counter()
                inputs = [*leaves, *last.leaves, steps]
                advance, result = await self._execute(advance, inputs, options, left)
                told = told_by(advance, result)
                elapsed = point.elapsed + time.monotonic() - begun
                _measure(pace, result, time.perf_counter() - sent, told.done)
                last = Checkpoint(told.state, pace.steps, elapsed)
                expected = forecast.of(told.progress)
                said = {"phase": "solving", **told.progress, "seconds": round(elapsed, 3)}
                progress.tell({**said, **expected})
                if told.done:
                    last = None
                    return told.state
                keeper.offer(last)
        finally:
            # A run that is given back goes on from here elsewhere, if the store takes it.
            await asyncio.shield(keeper.close(last))


def is_chunked(spec: ProgramSpec) -> bool:
    """Whether a program is a solver that can be advanced step by step."""
    whole = any(spec.options.get(name) is not None for name in WHOLE_OPTIONS)
    return spec.verb in CHUNKED_VERBS and not whole


def phase_spec(
    spec: ProgramSpec, phase: str, state: Sequence[np.ndarray] | None = None
) -> ProgramSpec:
    """The program of one phase: the verb's own inputs, the state, and the steps to advance."""
    inputs, avals = dict(spec.inputs), list(spec.avals)
    if state is not None:
        inputs["state"] = list(range(len(avals), len(avals) + len(state)))
        avals.extend(map(aval_of, state))
    if phase == "advance":
        inputs["steps"] = len(avals)
        avals.append(Aval("int32", ()))
    options = {**spec.options, "phase": phase}
    if phase != "finish" and isinstance(options.get("vmap"), Mapping):
        # A state is mapped along its first axis, wherever the results are wanted.
        options["vmap"] = {**options["vmap"], "out_axes": 0}
    return replace(spec, inputs=inputs, avals=tuple(avals), options=options)


def told_by(found: FoundProgram, result: RunResult) -> Told:
    """What a chunk gave."""
    said: Any = unflatten(found.image.meta["out"], result.leaves)
    progress = dict(said["progress"])
    done = bool(np.all(progress.pop("done")))
    shown = {name: _plain(leaf) for name, leaf in progress.items()}
    state = [np.asarray(leaf) for leaf in said["state"]]
    return Told(state, {name: value for name, value in shown.items() if value is not None}, done)


def _plain(leaf: np.ndarray) -> Any:
    """A number, or short lists of them; what JSON has no number for is said in words."""
    if leaf.ndim == 0:
        number = leaf.item()
        if isinstance(number, float) and not np.isfinite(number):
            return "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"
        return number
    return [_plain(row) for row in leaf] if leaf.size <= SHOWN_ENTRIES else None


def _resident(run_id: str, leaves: list[Any]) -> list[Any]:
    """Leaves with names for the large ones, so that they are sent to a device once."""
    named = list(leaves)
    for place, leaf in enumerate(leaves):
        if packing.weight([leaf]) <= RESIDENT_BYTES:
            continue
        if isinstance(leaf, np.ndarray):
            named[place] = Resident(f"{run_id}/{place}", leaf)
        elif isinstance(leaf, Matrix) and leaf.id is None:
            named[place] = replace(leaf, id=f"{run_id}/{place}")
    return named


def _left(limit: float, elapsed: float) -> float:
    if elapsed >= limit:
        raise _overdue(limit)
    return limit - elapsed


def _overdue(limit: float) -> DeadlineExceeded:
    """What is said of a solver that took longer than its limit in seconds."""
    return DeadlineExceeded(
        f"run: passed its limit of {limit:g} s and was ended",
        hint="Loosen the tolerance, start nearer, or send a larger timeout_s",
    )


def _measure(pace: Pace, result: RunResult, wall_s: float, done: bool) -> None:
    if not done:
        execute = result.timings["execute"]
        waited = result.timings["queue"] + result.timings["load"]
        pace.measured(execute, max(0.0, wall_s - execute - waited))
