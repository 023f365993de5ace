"""Linear systems of tensors. The gradient of a solution is one more solve, with the cotangent on the right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clmapreduce.device.array import NumpyArray
from clmapreduce.errors import ModeError
from clmapreduce.gradients.framework import Framework
from clmapreduce.gradients.job import Job, job_of
from clmapreduce.gradients.rules import Terms
from clmapreduce.gradients.tangents import summed_tangents
from clmapreduce.gradients.terms import summed_gradients
from clmapreduce.pairwise.inputs import Inputs, data_slot
from clmapreduce.pairwise.kernelsolve import SOLVING, Solver
from clmapreduce.pairwise.options import keywords
from clmapreduce.pairwise.reduction import Reduced
from clmapreduce.ranges import as_ranges


@dataclass(eq=False)
class System:
    """A system without its tensors. job: the sum Σ F(a). place: which variable is a. options: of the solver. status:
    how the last solve ended.
    """

    job: Job
    place: int
    options: Mapping[str, Any]
    status: Any = None

    def solutions(self, arrays: Sequence[NumpyArray]) -> tuple[NumpyArray]:
        """The solution a of α a + Σ F(a) = b, b in the place of a. Raises as `Solver`."""
        slots = [data_slot(array, v.category) for v, array in zip(self.job.variables, arrays, strict=True)]
        solver = Solver(self.job.call.axis, self.job.call.formula, Inputs(slots), self.place, dict(self.options))
        result: NumpyArray = solver()
        self.status = solver.status
        return (result,)

    def gradients(
        self, framework: Framework, inputs: tuple[Sequence[Any], Sequence[bool]], solution: Any, adjoint: Any
    ) -> list[Any]:
        """Per variable, the gradient of (solution | cotangent); None where it is 0 or not needed.

        inputs: tensors, and which of them need one. adjoint: the solution λ for the cotangent. It is b's gradient; a
        parameter's is that of -(λ | Σ F(a)). F is symmetric.
        """
        tensors, needed = list(inputs[0]), list(inputs[1])
        right = tensors[self.place]
        tensors[self.place] = solution
        needed[self.place] = False
        (factor,) = self.job.fresh(adjoint.shape[-1])
        terms = Terms([(self.job.call.formula, factor)], [(factor, -adjoint)], [])
        gradients = summed_gradients(framework, self.job, terms, (tensors, needed))
        gradients[self.place] = framework.fitted(adjoint, tuple(right.shape))
        return gradients

    def change(
        self, framework: Framework, inputs: tuple[Sequence[Any], Sequence[Any]], solution: Any
    ) -> Any:
        """The right-hand side of the system that the solution's derivative along directions of the tensors solves: that
        of b, less the change of Σ F(a); None where it is 0. inputs: as of `tangent`.
        """
        tensors, directions = list(inputs[0]), list(inputs[1])
        right = directions[self.place]
        tensors[self.place], directions[self.place] = solution, None
        (factor,) = self.job.fresh(solution.shape[-1])
        terms = Terms([(self.job.call.formula, factor)], [(factor, solution)], [])
        moved = summed_tangents(framework, self.job, terms, (tensors, directions))
        if moved is None:
            return right
        return -moved if right is None else right - moved


@dataclass(frozen=True, eq=False)
class SystemCall:
    """A system with its arrays, as formulas hold them. with_status: the caller asks how the solve ended."""

    system: System
    arrays: tuple[Any, ...]
    with_status: bool


def system_call(
    solver: Solver, arrays: Sequence[Any], options: Mapping[str, Any], host_view: Callable[[Any], Any]
) -> SystemCall:
    """What a solver is called with. host_view: x0 as NumPy array, where it is a tensor. Raises ModeError for `out`."""
    settings = {**solver.options, **options}
    settings["ranges"] = as_ranges(settings.get("ranges"))
    if settings.pop("out", None) is not None:
        raise ModeError("out= is not offered by a solver; take the tensor that it gives")
    with_status = settings.pop("return_status", False)
    solving = {name: settings[name] for name in SOLVING if settings.get(name) is not None}
    if "x0" in solving:
        solving["x0"] = host_view(solving["x0"])
    others = {name: value for name, value in settings.items() if name not in SOLVING}
    bound = solver.inputs.bound(arrays) if arrays or solver.inputs.unbound else solver.inputs
    values = bound.arrays
    call = Reduced("Sum", solver.axis, solver.formula, bound, None, None, others)._pair_call(keywords(others))
    job = job_of(call, tuple(values), keywords(others))
    system = System(job, solver.unknown, {**others, "context": job.options.context, **solving})
    return SystemCall(system, tuple(values.values()), with_status)
