"""Linear systems of tensors."""

from __future__ import annotations

from typing import Any

import torch

from clmapreduce.gradients.system import System, system_call
from clmapreduce.pairwise.kernelsolve import Solver
from clmapreduce.torch.autograd import TORCH, with_zeros
from clmapreduce.torch.compiling import as_it_is
from clmapreduce.torch.mapped import batched
from clmapreduce.torch.tensors import array_of, host_view, tensor_from, tensors_of


class _Solve(torch.autograd.Function):
    """The solution a of α a + Σ F(a) = b, for a system's tensors, with b in the place of a. F is symmetric."""

    @staticmethod
    def forward(system: System, *tensors: Any) -> Any:
        (result,) = system.solutions(list(map(host_view, tensors)))
        return tensor_from(result, tensors[0].device)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.system, *tensors = inputs
        ctx.save_for_backward(*tensors, output)
        ctx.save_for_forward(*tensors, output)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        *tensors, solution = ctx.saved_tensors
        system, needed = ctx.system, ctx.needs_input_grad[1:]
        if cotangent is None:
            return (None, *(None for _ in tensors))
        adjoint = _Solve.apply(system, *tensors[: system.place], cotangent, *tensors[system.place + 1 :])
        return (None, *with_zeros(system.gradients(TORCH, (tensors, needed), solution, adjoint), tensors, needed))

    @staticmethod
    def jvp(ctx: Any, _: None, *directions: Any) -> Any:
        *tensors, solution = ctx.saved_tensors
        right = ctx.system.change(TORCH, (tensors, directions), solution)
        if right is None:
            return torch.zeros_like(solution)
        place = ctx.system.place
        return _Solve.apply(ctx.system, *tensors[:place], right, *tensors[place + 1 :])

    @staticmethod
    def vmap(info: Any, in_dims: Any, system: System, *tensors: Any) -> Any:
        return _Solve.apply(system, *batched(system.job, tensors, in_dims[1:])), 0


class TensorSolver(Solver):
    """As `Solver`, for tensors: the solution is a tensor, with gradients by all of them."""

    @as_it_is
    def __call__(self, *arrays: Any, **options: Any) -> Any:
        """The solution for these tensors. x0 may be a tensor; a preconditioner is called as of a `Solver`."""
        call = system_call(self, tuple(map(array_of, arrays)), options, _first_guess)
        solution = _Solve.apply(call.system, *tensors_of(call.arrays))
        self.status = call.system.status
        return (solution, self.status) if call.with_status else solution


def _first_guess(x0: Any) -> Any:
    return host_view(x0) if isinstance(x0, torch.Tensor) else x0
