"""A verb called on a function: spec, program, run, and what is to be said of the result."""

from __future__ import annotations

from collections.abc import Coroutine, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from app.compute.image import ImageRejected, ProgramImage, Resident
from app.compute.pool.protocol import Pool, RunResult
from app.compute.spec import ProgramSpec
from app.core.codec.decode import Reference
from app.core.codec.documents import dump
from app.core.errors import InvalidArgument, WorkerLost
from app.core.values import Aval, Structure, aval_of
from app.services import matrix, nonfinite, outcome
from app.services.array import ArrayService
from app.services.function import Source
from app.services.matrix import Matrix
from app.services.memory import Memory
from app.services.program import FoundProgram, ProgramService, program_id

_SPEC_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of a call: structures by group (args, tangents, …) over one list of leaves."""

    groups: Mapping[str, Structure]
    leaves: list[Any]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What does not change the program: where, how long, and what else to report or keep.

    ``ceiling_s`` is the server's own limit where it is not that of a call that is waited for;
    ``background`` work keeps off a device where there are several. ``layout`` is that of sparse
    results; without one they are as the input whose pattern they share, else csr.
    """

    device: str | None = None
    timeout_s: float | None = None
    diagnose: bool = False
    store: bool = False
    ceiling_s: float | None = None
    background: bool = False
    layout: str | None = None

    def limit(self, usual_s: float) -> float:
        """The seconds that a run may take, where a call may take ``usual_s``."""
        ceiling = self.ceiling_s or usual_s
        return min(self.timeout_s or ceiling, ceiling)


@dataclass(frozen=True, slots=True)
class Answer:
    """A result as a structure over leaves, plain fields beside it, and seconds by phase."""

    result: Structure
    leaves: list[Any]
    fields: dict[str, Any]
    timings: dict[str, float] = field(default_factory=dict)


class CallService:
    """Runs programs on the pool."""

    def __init__(
        self, pool: Pool, programs: ProgramService, arrays: ArrayService, *, run_s: float
    ) -> None:
        self._pool = pool
        self._programs = programs
        self._arrays = arrays
        self._run_s = run_s
        self._specs: Memory[Hashable, ProgramSpec] = Memory(_SPEC_BYTES)

    async def spec(
        self,
        verb: str,
        source: Source,
        inputs: Inputs,
        options: Mapping[str, Any],
        *,
        dtype: str,
        platform: str,
        written: bytes | None = None,
    ) -> tuple[ProgramSpec, list[Any]]:
        """The spec of a call, and its leaves with references resolved.

        ``written`` is what the caller has packed already: bytes that differ wherever the groups
        of inputs or the options do.
        """
        leaves = await self._arrays.resolve(inputs.leaves, inputs.groups)
        arranged = written or dump([inputs.groups, options], "msgpack")
        kinds = tuple([_kind(leaf) for leaf in leaves])
        same = (source.text, source.entry, verb, arranged, kinds, dtype, platform)
        spec = self._specs.get(same)
        if spec is None:
            avals = tuple(map(abstract, leaves))
            spec = ProgramSpec(
                source=source.text,
                entry=source.entry,
                verb=verb,
                inputs=inputs.groups,
                avals=avals,
                options=options,
                dtype=dtype,
                platform=platform,
            )
            self._specs.put(same, spec, len(source.text) + len(arranged) + 1024)
        return spec, leaves

    async def run(self, spec: ProgramSpec, leaves: list[Any], options: RunOptions) -> Answer:
        """Find the program of ``spec`` and run it; raises ProblemErrors only."""
        found = await self._programs.find(spec)
        return await self.run_found(found, leaves, options)

    async def answer(self, spec: ProgramSpec, leaves: list[Any], options: RunOptions) -> Answer:
        """The answer of any verb: run, or only looked at."""
        if spec.verb != "abstract_eval":
            return await self.run(spec, leaves, options)
        said = await self.abstract_eval(spec)
        return Answer(None, [], {"result": said["out"], "lines": said["lines"]})

    async def find(self, spec: ProgramSpec) -> FoundProgram:
        """The program of ``spec``, compiled where it must be."""
        return await self._programs.find(spec)

    async def run_found(
        self, found: FoundProgram, leaves: list[Any], options: RunOptions
    ) -> Answer:
        """Run a program that was found before."""
        found, result = await self.execute(found, leaves, options)
        return await self.tell(found, result, leaves, options)

    async def execute(
        self, found: FoundProgram, leaves: list[Any], options: RunOptions
    ) -> tuple[FoundProgram, RunResult]:
        """Run a program, compiled anew where this machine rejects what was found."""
        try:
            return found, await self._execute(found.image, leaves, options)
        except ImageRejected:
            found = await self._programs.renew(found.image)
        try:
            return found, await self._execute(found.image, leaves, options)
        except ImageRejected:
            raise WorkerLost(
                "The program was compiled anew and still does not load here", retry_after=5
            ) from None

    def _execute(
        self, image: ProgramImage, leaves: list[Any], options: RunOptions
    ) -> Coroutine[Any, Any, RunResult]:
        return self._pool.run(
            image,
            matrix.flatten(leaves),
            deadline_s=options.limit(self._run_s),
            device=options.device,
            background=options.background,
        )

    async def tell(
        self, found: FoundProgram, result: RunResult, leaves: list[Any], options: RunOptions
    ) -> Answer:
        """What is to be said of the result of a program."""
        image = found.image
        structure = image.meta["out"]
        fields: dict[str, Any] = {
            "program": program_id(image.key),
            "cache": found.cache,
            "device": result.device,
        }
        if found.cache == "compiled" and found.missed:
            fields["missed"] = list(found.missed)
        outputs: list[Any] = matrix.gather(
            result.leaves, image.meta, leaves, options.layout, summed=options.store
        )
        bad = nonfinite.report(structure, outputs, leaves)
        if bad:
            fields["nonfinite"] = await self._explain(bad, image.spec, leaves, options)
        structure, said = outcome.told(structure, outputs, image.meta)
        if options.store:
            outputs = await self._store_results(outputs)
        fields.update(said)
        return Answer(structure, outputs, fields, {**found.timings, **result.timings})

    async def _explain(
        self,
        bad: list[dict[str, Any]],
        spec: ProgramSpec,
        leaves: list[Any],
        options: RunOptions,
    ) -> dict[str, Any]:
        explained: dict[str, Any] = {"outputs": bad}
        if options.diagnose:
            flat = matrix.flatten(leaves)
            plain = [leaf.value if isinstance(leaf, Resident) else leaf for leaf in flat]
            said = await self._pool.ask(
                "diagnose", {"spec": spec.to_wire()}, plain, deadline_s=self._run_s
            )
            explained["origin"] = said["items"]
        else:
            explained["hint"] = 'Send "diagnose": true to learn which line made it first'
        return explained

    async def _store_results(self, outputs: list[Any]) -> list[Any]:
        return [Reference((await self._arrays.put(leaf))[0].id, ()) for leaf in outputs]

    async def rerun(self, name: str, inputs: Inputs, options: RunOptions) -> Answer:
        """Run a program by its id on inputs of the very shapes it was compiled for."""
        spec, leaves = await self.fitted(name, inputs)
        return await self.run(spec, leaves, options)

    async def fitted(self, name: str, inputs: Inputs) -> tuple[ProgramSpec, list[Any]]:
        """The spec of a program by its id, and leaves that fit it."""
        spec = await self._programs.spec(name)
        leaves = await self._arrays.resolve(inputs.leaves, inputs.groups)
        _check_fit(spec, inputs, tuple(map(abstract, leaves)))
        return spec, leaves

    async def resolve(self, leaves: list[Any]) -> list[Any]:
        """Leaves with the arrays that references name in their place."""
        return await self._arrays.resolve(leaves)

    async def abstract_eval(self, spec: ProgramSpec) -> dict[str, Any]:
        """Shapes and dtypes of the outputs; nothing is compiled or run."""
        return await self._pool.ask(
            "abstract_eval", {"spec": spec.to_wire()}, deadline_s=self._run_s
        )


def _kind(leaf: Any) -> Hashable:
    """What tells abstract values apart; that of a dense leaf is compared without any Python."""
    return (leaf.dtype, leaf.shape) if type(leaf) is np.ndarray else abstract(leaf)


def abstract(leaf: Any) -> Aval:
    """The abstract value of any leaf that a spec may hold."""
    if isinstance(leaf, Aval):
        return leaf
    if isinstance(leaf, Resident):
        return aval_of(leaf.value)
    if isinstance(leaf, Matrix):
        return leaf.aval()
    return aval_of(leaf)


def _check_fit(spec: ProgramSpec, inputs: Inputs, avals: tuple[Aval, ...]) -> None:
    if dict(inputs.groups) != dict(spec.inputs):
        raise InvalidArgument(
            "The inputs are not arranged as those this program was compiled for",
            pointer="/args",
            hint="Send the same nesting and names, or call the verb with its function",
        )
    for place, (mine, compiled) in enumerate(zip(avals, spec.avals, strict=True)):
        if mine != compiled:
            raise InvalidArgument(
                f"Input {place} is {_said(mine)}; this program takes {_said(compiled)}",
                pointer="/args",
                hint="Call the verb with its function to compile for other shapes",
            )


def _said(aval: Aval) -> str:
    return f"{aval.dtype}{list(aval.shape)}"
