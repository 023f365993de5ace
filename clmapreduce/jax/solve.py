"""Linear systems of JAX arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from clmapreduce.errors import ModeError
from clmapreduce.gradients.job import Job
from clmapreduce.gradients.system import System, system_call
from clmapreduce.jax.arrays import array_of, host_view, is_traced, jax_arrays
from clmapreduce.jax.autodiff import JAX, directions_of
from clmapreduce.jax.callback import Callback, on_host
from clmapreduce.jax.derivative import Arrays, Derivative, change
from clmapreduce.pairwise.kernelsolve import Solver


@dataclass(frozen=True)
class OfSystem(Derivative):
    """The derivative of a system's solution."""

    system: System

    @property
    def job(self) -> Job:  # type: ignore[override]
        return self.system.job

    def along(self, arrays: Arrays, result: Any, directions: Arrays) -> Any:
        right = self.system.change(JAX, (arrays, directions), result)
        return None if right is None else self._solved(arrays, right)

    def back(self, arrays: Arrays, result: Any, needed: Sequence[bool], cotangent: Any) -> Arrays:
        adjoint = self._solved(arrays, cotangent)
        return self.system.gradients(JAX, (arrays, needed), result, adjoint)

    def _solved(self, arrays: Arrays, right: Any) -> Any:
        """The solution for another right-hand side."""
        place = self.system.place
        return _solve(self.system, *arrays[:place], right, *arrays[place + 1 :])


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _solve(system: System, *arrays: Any) -> Any:
    """The solution a of α a + Σ F(a) = b, for a system's arrays, with b in the place of a. F is symmetric."""
    (solution,) = on_host(system.job, Callback(System.solutions, system), arrays)
    return solution


@partial(_solve.defjvp, symbolic_zeros=True)
def _solved_along(system: System, arrays: Any, tangents: Any) -> Any:
    solution = _solve(system, *arrays)
    directions = directions_of(tangents)
    if all(direction is None for direction in directions):
        return solution, jnp.zeros_like(solution)
    return solution, change(OfSystem(system), arrays, solution, directions)


class JaxSolver(Solver):
    """As `Solver`, for JAX arrays: the solution is one too, with gradients by all of them."""

    def __call__(self, *arrays: Any, **options: Any) -> Any:
        """The solution for these arrays. x0 may be a JAX array; a preconditioner is called as of a `Solver`. Raises
        ModeError for x0 and the status under jit, grad or vmap, because there are no values yet.
        """
        call = system_call(self, tuple(map(array_of, arrays)), options, _first_guess)
        values = jax_arrays(call.arrays)
        if call.with_status and is_traced(values):
            raise ModeError("return_status=True is not offered under jit, grad or vmap; call the solver outside of it")
        solution = _solve(call.system, *values)
        self.status = call.system.status
        return (solution, self.status) if call.with_status else solution


def _first_guess(x0: Any) -> Any:
    if is_traced([x0]):
        raise ModeError("x0= is a traced array; give one whose numbers are known outside of jit, grad and vmap")
    return host_view(x0) if isinstance(x0, jax.Array) else x0
