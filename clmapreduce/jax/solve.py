"""Linear systems of JAX arrays."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax

from clmapreduce.errors import ModeError
from clmapreduce.gradients.system import System, system_call
from clmapreduce.jax.arrays import array_of, host_view, is_traced, jax_arrays
from clmapreduce.jax.autodiff import JAX, Needed, is_zero
from clmapreduce.jax.callback import Callback, on_host
from clmapreduce.pairwise.kernelsolve import Solver


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _solve(system: System, *arrays: Any) -> Any:
    """The solution a of α a + Σ F(a) = b, for a system's arrays, with b in the place of a. F is symmetric."""
    (solution,) = on_host(system.job, Callback(System.solutions, system), arrays)
    return solution


def _forward(system: System, *primals: Any) -> Any:
    arrays = tuple(primal.value for primal in primals)
    solution = _solve(system, *arrays)
    return solution, (arrays, solution, Needed(tuple(primal.perturbed for primal in primals)))


def _backward(system: System, saved: Any, cotangent: Any) -> Any:
    arrays, solution, needed = saved
    if is_zero(cotangent):
        return tuple(None for _ in arrays)
    adjoint = _solve(system, *arrays[: system.place], cotangent, *arrays[system.place + 1 :])
    return tuple(system.gradients(JAX, (arrays, needed.flags), solution, adjoint))


_solve.defvjp(_forward, _backward, symbolic_zeros=True)


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
