"""Linear systems of tensors. The gradient of a solution is one more solve, with the cotangent on the right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from clmapreduce.errors import ModeError
from clmapreduce.pairwise.inputs import Inputs, data_slot
from clmapreduce.pairwise.kernelsolve import SOLVING, Solver
from clmapreduce.pairwise.options import keywords
from clmapreduce.pairwise.reduction import Reduced
from clmapreduce.ranges import as_ranges
from clmapreduce.torch.autograd import summed_gradients
from clmapreduce.torch.job import Job, job_of
from clmapreduce.torch.tensors import array_of, host_view, tensor_from, tensors_of


@dataclass(eq=False)
class _System:
    """A system without its tensors. job: the sum Σ F(a). place: which variable is a. options: of the solver."""

    job: Job
    place: int
    options: Mapping[str, Any]
    status: Any = None

    def solution(self, tensors: Sequence[Any]) -> Any:
        """The solution, without gradients."""
        slots = [data_slot(host_view(t), v.category) for v, t in zip(self.job.variables, tensors, strict=True)]
        solver = Solver(self.job.call.axis, self.job.call.formula, Inputs(slots), self.place, dict(self.options))
        result = solver()
        self.status = solver.status
        return tensor_from(result, tensors[0].device)


class _Solve(torch.autograd.Function):
    """The solution a of α a + Σ F(a) = b, for a system's tensors, with b in the place of a. F is symmetric."""

    @staticmethod
    def forward(ctx: Any, system: _System, *tensors: Any) -> Any:
        solution = system.solution(tensors)
        ctx.system = system
        ctx.save_for_backward(*tensors, solution)
        return solution

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        """b's gradient is the solution for the cotangent, λ; a parameter's is that of -(λ | Σ F(a))."""
        *tensors, solution = ctx.saved_tensors
        system, needed = ctx.system, list(ctx.needs_input_grad[1:])
        right = tensors[system.place]
        tensors[system.place] = cotangent
        adjoint = _Solve.apply(system, *tensors)
        tensors[system.place] = solution
        needed[system.place] = False
        job = system.job
        (factor,) = job.fresh(adjoint.shape[-1])
        gradients = summed_gradients(job, [(job.call.formula, factor)], (tensors, needed), ([factor], [-adjoint]))
        gradients[system.place] = adjoint.sum_to_size(right.shape)
        return (None, *gradients)


class TensorSolver(Solver):
    """As `Solver`, for tensors: the solution is a tensor, with gradients by all of them."""

    def __call__(self, *arrays: Any, **options: Any) -> Any:
        """The solution for these tensors. x0 may be a tensor; a preconditioner is called as of a `Solver`."""
        settings = {**self.options, **options}
        settings["ranges"] = as_ranges(settings.get("ranges"))
        if settings.pop("out", None) is not None:
            raise ModeError("out= is not offered by a solver; take the tensor that it gives")
        with_status = settings.pop("return_status", False)
        solving = {name: settings[name] for name in SOLVING if settings.get(name) is not None}
        if isinstance(solving.get("x0"), torch.Tensor):
            solving["x0"] = host_view(solving["x0"])
        others = {name: value for name, value in settings.items() if name not in SOLVING}
        bound = self.inputs.bound(tuple(map(array_of, arrays))) if arrays or self.inputs.unbound else self.inputs
        values = bound.arrays
        call = Reduced("Sum", self.axis, self.formula, bound, None, None, others)._pair_call(keywords(others))
        system = _System(job_of(call, tuple(values), keywords(others)), self.unknown, {**others, **solving})
        solution = _Solve.apply(system, *tensors_of(tuple(values.values())))
        self.status = system.status
        return (solution, self.status) if with_status else solution
