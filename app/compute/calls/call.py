"""What a verb is given: a staged function, its arguments, what to differentiate in, directions.

A ``Call`` lives inside one trace, for one point: under ``vmap`` the arguments are already those
of a single example. The user's source is interpreted once, to a jaxpr; verbs differentiate that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend import core as jex

from app.compute.calls import results
from app.compute.calls.arguments import Arguments, Wrt
from app.compute.programs.branches import Guarded
from app.compute.programs.escapes import refuse_escaped
from app.compute.programs.leaves import is_sparse, lined_up, values_of, with_values
from app.core.errors import InvalidArgument

Tree = Any


@dataclass(frozen=True)
class Staged:
    """The function as a jaxpr: call it on trees shaped like ``args``."""

    closed: jex.ClosedJaxpr
    out: Tree

    @classmethod
    def of(cls, function: Callable[..., Any], args: Sequence[Tree]) -> Staged:
        """Interpret ``function`` once, for the shapes of ``args``."""
        shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), list(args))
        closed, out = jax.make_jaxpr(
            lambda *trees: results.arrays(function(*trees)), return_shape=True
        )(*shapes)
        refuse_escaped(closed)
        return cls(closed, out)

    def __call__(self, *args: Tree) -> Tree:
        leaves = jax.tree.leaves(list(args))
        flat = jex.jaxpr_as_fun(self.closed)(*leaves)
        return jax.tree.unflatten(jax.tree.structure(self.out), flat)

    @cached_property
    def guarded(self) -> Callable[..., Tree]:
        """The same function, fit to be differentiated where a branch is discarded."""
        flat = Guarded(self.closed)
        treedef = jax.tree.structure(self.out)
        return lambda *args: jax.tree.unflatten(treedef, flat(*jax.tree.leaves(list(args))))


@dataclass(frozen=True)
class Call:
    """One evaluation point and everything a verb may ask about it.

    ``directions`` maps a group (tangents, cotangents, vectors) to one tree per target, each with
    a leading axis when ``batch``; and any group of the verb's own to its tree.
    ``function`` is what was staged, for other shapes; ``companion`` another of the same source.
    ``plan`` is what the verb planned before the trace.
    """

    staged: Staged
    arguments: Arguments
    wrt: Wrt
    options: Mapping[str, Any]
    directions: Mapping[str, Tree]
    function: Callable[..., Any]
    companion: Callable[[str], Callable[..., Any]]
    plan: Any = None

    @property
    def args(self) -> tuple[Tree, ...]:
        """One tree of arrays per argument."""
        return self.arguments.trees

    @property
    def varied(self) -> list[Tree]:
        """The arguments that ``wrt`` names, in its order."""
        return [self.args[position] for position in self.wrt.positions]

    @property
    def points(self) -> tuple[Tree, ...]:
        """The arguments that ``wrt`` names, in its order; of sparse matrices the values."""
        return tuple(values_of(self.args[position]) for position in self.wrt.positions)

    def pack(self, derivatives: Sequence[Tree]) -> Tree:
        """Derivatives shaped like ``points``, as the client asked: sparse ones on their pattern."""
        pairs = zip(self.wrt.positions, derivatives, strict=True)
        return self.wrt.pack([with_values(self.args[at], each) for at, each in pairs])

    def along(self, group: str, tree: Tree) -> Tree:
        """The directions of a group, those of matrices at the entries of ``tree``'s."""
        given = self.directions[group]
        if not self.batch:
            return lined_up(tree, given)
        return jax.vmap(lambda each: lined_up(tree, each))(given)

    def require_dense(self, verb: str) -> None:
        """Raise ``InvalidArgument`` where ``wrt`` holds a sparse matrix."""
        for position in self.wrt.positions:
            if any(map(is_sparse, jax.tree.leaves(self.args[position], is_leaf=is_sparse))):
                raise InvalidArgument(
                    f"{verb} in a sparse matrix is not made: it would hold every entry squared",
                    pointer=self.arguments.pointers[position],
                    hint="use grad, jvp, vjp or hvp, or name a dense argument in wrt",
                )

    @property
    def holomorphic(self) -> bool:
        """Whether complex differentiation was asked for."""
        return bool(self.options.get("holomorphic", False))

    @property
    def batch(self) -> bool:
        """Whether directions carry a leading axis of many."""
        return bool(self.options.get("batch", False))

    def at(self, *points: Tree) -> Tree:
        """The function of the ``wrt`` arguments alone, the others held."""
        args = list(self.args)
        for position, point in zip(self.wrt.positions, points, strict=True):
            args[position] = with_values(args[position], point)
        return self.staged.guarded(*args)

    def require_differentiable(self) -> None:
        """Raise ``InvalidArgument`` unless ``wrt`` holds leaves, all floating (or complex)."""
        if not self.wrt.positions:
            raise InvalidArgument(
                "there is no argument to differentiate in",
                pointer="/args",
                hint="give the function a parameter and send its value in args, or use evaluate",
            )
        for position, point in zip(self.wrt.positions, self.points, strict=True):
            name, pointer = self.arguments.names[position], self.arguments.pointers[position]
            for path, leaf in jax.tree_util.tree_leaves_with_path(point):
                self._require_inexact(leaf, name, pointer + "".join(map(_step, path)))

    def _require_inexact(self, leaf: Any, name: str, pointer: str) -> None:
        if not jnp.issubdtype(leaf.dtype, jnp.inexact):
            raise InvalidArgument(
                f"{name} holds {leaf.dtype}: a derivative needs floating-point numbers",
                pointer=pointer,
                hint='send bare numbers or "dtype": "float64", or name another argument in wrt',
            )
        is_complex = jnp.issubdtype(leaf.dtype, jnp.complexfloating)
        if self.holomorphic and not is_complex:
            raise InvalidArgument(
                f"holomorphic differentiation needs complex input; {name} is {leaf.dtype}",
                pointer=pointer,
                hint='send it as "dtype": "complex128", or leave holomorphic out',
            )

    def require_scalar(self, verb: str) -> None:
        """Raise ``InvalidArgument`` unless the function returns one floating scalar."""
        leaves = jax.tree.leaves(self.staged.out)
        if len(leaves) != 1 or not hasattr(leaves[0], "shape"):
            raise InvalidArgument(
                f"{verb} needs a function that returns one scalar; this returns "
                f"{len(leaves)} arrays",
                pointer="/function",
                hint="use jacobian for all derivatives, or vjp with cotangents",
            )
        (leaf,) = leaves
        if leaf.shape != ():
            raise InvalidArgument(
                f"{verb} needs a function that returns a scalar; this returns shape "
                f"{list(leaf.shape)}",
                pointer="/function",
                hint="use jacobian for all derivatives, vjp with cotangents, or sum the result",
            )
        self.require_real_output(verb)

    def require_real_output(self, verb: str) -> None:
        """Raise ``InvalidArgument`` for integer results, and complex ones unless holomorphic."""
        for leaf in jax.tree.leaves(self.staged.out):
            if not jnp.issubdtype(leaf.dtype, jnp.inexact):
                raise InvalidArgument(
                    f"{verb} needs floating-point results; the function returns {leaf.dtype}",
                    pointer="/function",
                    hint="return a float: a comparison or an index has no derivative",
                )
            if self.holomorphic != jnp.issubdtype(leaf.dtype, jnp.complexfloating):
                raise InvalidArgument(*self._kind_mismatch(verb, leaf), pointer="/holomorphic")

    def _kind_mismatch(self, verb: str, leaf: Any) -> tuple[str]:
        if self.holomorphic:
            return (f"holomorphic {verb} needs complex results; the function returns {leaf.dtype}",)
        return (
            f"the function returns {leaf.dtype}: {verb} of a complex result is defined only for "
            'holomorphic functions; send "holomorphic": true, or return a real number',
        )


def _step(key: Any) -> str:
    return f"/{getattr(key, 'key', getattr(key, 'idx', key))}"


def step(key: Any) -> str:
    """One step of a JSON pointer, from one key of a JAX tree path."""
    return _step(key)
