"""A ``ProgramSpec`` read: the verb over the function, ready to be traced.

Order of things: parse, line up the arguments, interpret the source once for the shapes of one
example, apply the verb, map it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax

from app.compute.calls import results
from app.compute.calls.arguments import Arguments, Signature, Wrt, arrange, resolve_wrt
from app.compute.calls.call import Call, Staged
from app.compute.calls.directions import Aligned, Target, align
from app.compute.calls.mapping import Axes
from app.compute.language import parse
from app.compute.programs.leaves import abstract, is_sparse, sources, values_of
from app.compute.spec import ProgramSpec
from app.compute.verbs.table import VERBS
from app.compute.verbs.verb import Verb
from app.core.errors import InvalidArgument, RefusedSource
from app.core.values import Structure, unflatten

COMMON = frozenset({"static", "vmap", "wrt"})


@dataclass(frozen=True)
class Program:
    """A verb over a function, ready to be traced: called on flat leaves, returns a tree."""

    verb: Verb
    inputs: Mapping[str, Structure]
    arguments: Arguments
    signature: Signature
    wrt: Wrt
    axes: Axes | None
    staged: Staged
    options: Mapping[str, Any]
    function: Callable[..., Any]
    companion: Callable[[str], Callable[..., Any]]
    plan: Any = None

    @classmethod
    def of(cls, spec: ProgramSpec) -> Program:
        """Read the spec and interpret the source for the shapes of one example."""
        verb = VERBS.get(spec.verb)
        if verb is None:
            raise InvalidArgument(f"there is no verb {spec.verb!r}", pointer="/verb")
        options = {name: value for name, value in spec.options.items() if value is not None}
        _check_options(options, verb, spec.inputs)
        parsed = parse(spec.source, spec.entry)
        static = options.get("static", {})
        whole = Signature.of(parsed.parameters, static)
        signature = whole.after(verb.leading)
        shapes = [abstract(aval) for aval in spec.avals]
        arguments = arrange(unflatten(spec.inputs.get("args", []), shapes), signature)
        axes = Axes.of(options["vmap"], arguments) if "vmap" in options else None
        example = axes.example(arguments.trees) if axes else arguments.trees
        lead = whole.names[: verb.leading]
        function = _caller(parsed.bind(static), arguments, signature, lead)
        scalar = jax.ShapeDtypeStruct((), jax.dtypes.canonicalize_dtype(spec.dtype))
        staged = Staged.of(function, [scalar] * len(lead) + list(example))
        wrt = _wrt(options.get("wrt"), arguments, verb)

        def companion(entry: str) -> Callable[..., Any]:
            if entry == parsed.name and not spec.entry:
                raise RefusedSource(
                    f"{entry} is the last function of the source, so the call is of it",
                    hint=f'write {entry} first, or name the function that is meant: "entry": "f"',
                )
            return parse(spec.source, entry).bind()

        program = cls(
            verb, spec.inputs, arguments, signature, wrt, axes, staged, options, function, companion
        )
        return program if verb.plan is None else replace(program, plan=program._plan(example))

    def _plan(self, example: Sequence[Any]) -> Any:
        """What the verb makes of the shapes of one example, while nothing is traced."""
        assert self.verb.plan is not None
        return self.verb.plan(self._call(example, {}))

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """The verb's result, mapped over examples where asked."""
        given = arrange(unflatten(self.inputs.get("args", []), leaves), self.signature)
        points, treedef = jax.tree.flatten(list(given.trees))
        aligned = self._aligned(leaves)
        own = {name: unflatten(self.inputs[name], leaves) for name in self._own_groups()}

        like: list[int | None] = []

        def example(points: list[Any], directions: list[Any], own: dict[str, Any]) -> Any:
            trees = jax.tree.unflatten(treedef, points)
            group = {} if aligned is None else {self.verb.direction: aligned.rebuild(directions)}
            out = results.arrays(self.verb.compute(self._call(trees, {**group, **own})))
            like[:] = sources(out, trees)
            return out

        directions = [] if aligned is None else aligned.leaves
        if self.axes is None:
            return example(points, directions, own)
        own_axes = {name: self.verb.groups[name] for name in own}
        in_axes = (list(self.axes.leaves), [] if aligned is None else aligned.axes, own_axes)
        try:
            mapped = jax.vmap(example, in_axes, self.axes.out)(points, directions, own)
            return self.axes.put_back(mapped, given.trees, like)
        except ValueError as error:
            # JAX raises this one where an axis of out_axes is none that a result has.
            if "out of bounds" not in str(error):
                raise
            raise InvalidArgument(
                f"a result has no axis {self.axes.out} to put the mapped one at",
                pointer="/vmap/out_axes",
                hint="0 puts it first, -1 last",
            ) from None

    def _call(self, trees: Sequence[Any], groups: Mapping[str | None, Any]) -> Call:
        arguments = self.arguments.with_trees(trees)
        return Call(
            self.staged,
            arguments,
            self.wrt,
            self.options,
            {str(name): tree for name, tree in groups.items()},
            self.function,
            self.companion,
            self.plan,
        )

    def _own_groups(self) -> list[str]:
        return [name for name in self.verb.groups if self.inputs.get(name) is not None]

    def _aligned(self, leaves: Sequence[Any]) -> Aligned | None:
        group = self.verb.direction
        if group is None:
            return None
        given = unflatten(self.inputs[group], leaves)
        batch = bool(self.options.get("batch", False))
        return align(given, self._targets(), group, batch=batch)

    def _targets(self) -> list[Target]:
        if self.verb.direction == "cotangents":
            return [self._result_target()]
        spans = _spans(self.arguments.trees)
        axes = self.axes.leaves if self.axes else (None,) * spans[-1][1]
        return [
            Target(
                self.arguments.names[at],
                self.arguments.trees[at],
                _axes_of_leaves(self.arguments.trees[at], axes[slice(*spans[at])]),
            )
            for at in self.wrt.positions
        ]

    def _result_target(self) -> Target:
        """The function's result, with its mapped axis put back."""
        leaves, treedef = jax.tree.flatten(self.staged.out, is_leaf=is_sparse)
        if self.axes is None:
            return Target("the result", self.staged.out, (None,) * len(leaves))
        axis = self.axes.out
        if not isinstance(axis, int):
            raise InvalidArgument(
                "cotangents under vmap need one out_axes for all", pointer="/vmap/out_axes"
            )
        whole = [_with_axis(leaf, axis, self.axes.size) for leaf in leaves]
        return Target("the result", jax.tree.unflatten(treedef, whole), (axis,) * len(leaves))


def _with_axis(leaf: Any, axis: int, size: int) -> Any:
    if is_sparse(leaf):
        return jax.tree.map(lambda part: _with_axis(part, 0, size), leaf)
    place = axis % (len(leaf.shape) + 1)
    shape = (*leaf.shape[:place], size, *leaf.shape[place:])
    return jax.ShapeDtypeStruct(shape, leaf.dtype)


def _axes_of_leaves(tree: Any, axes: Sequence[int | None]) -> tuple[int | None, ...]:
    """The mapped axis of each leaf, a matrix being one, from those of all buffers."""
    packed = jax.tree.unflatten(jax.tree.structure(tree), [[axis] for axis in axes])
    flat = jax.tree.leaves(values_of(packed), is_leaf=lambda node: isinstance(node, list))
    return tuple(axis for (axis,) in flat)


def _spans(trees: Sequence[Any]) -> list[tuple[int, int]]:
    """Where the leaves of each tree lie among those of all."""
    spans, start = [], 0
    for tree in trees:
        stop = start + len(jax.tree.leaves(tree))
        spans.append((start, stop))
        start = stop
    return spans or [(0, 0)]


def _wrt(wrt: Any, arguments: Arguments, verb: Verb) -> Wrt:
    """jvp and vjp take every argument by default, as in JAX; the others the first."""
    if wrt is None and (verb.direction in ("tangents", "cotangents") or not arguments.names):
        return Wrt(tuple(range(len(arguments.names))), single=False, given=False)
    return resolve_wrt(wrt, arguments)


def _check_options(options: Mapping[str, Any], verb: Verb, inputs: Mapping[str, Any]) -> None:
    for name in options:
        if name not in COMMON | verb.options:
            raise InvalidArgument(
                f"{verb.name} has no field {name}",
                pointer=f"/{name}",
                hint=f"it takes {', '.join(sorted(COMMON | verb.options))}",
            )
    if verb.direction is not None and inputs.get(verb.direction) is None:
        raise InvalidArgument(f"{verb.name} needs {verb.direction}", pointer=f"/{verb.direction}")
    for group in inputs:
        if group not in ("args", verb.direction, *verb.groups):
            raise InvalidArgument(f"{verb.name} takes no {group}", pointer=f"/{group}")
    for name in ("holomorphic", "batch"):
        if not isinstance(options.get(name, False), bool):
            raise InvalidArgument(f"{name} is true or false", pointer=f"/{name}")
    if not isinstance(options.get("static", {}), Mapping):
        raise InvalidArgument("static is an object of values by name", pointer="/static")


def _caller(
    bound: Callable[..., Any],
    arguments: Arguments,
    signature: Signature,
    lead: Sequence[str] = (),
) -> Callable[..., Any]:
    """Call ``bound`` with one tree per argument, by name where positions would not line up.

    ``lead`` names the parameters that the verb gives itself, before the arguments.
    """
    if not (arguments.by_name or signature.shifted):
        return lambda *trees: bound(*trees)
    names = (*lead, *arguments.names)
    return lambda *trees: bound(**dict(zip(names, trees, strict=True)))
