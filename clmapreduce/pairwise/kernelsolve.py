"""KernelSolve: solves linear systems whose operator is a sum of a formula over pairs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from clmapreduce.calls.arguments import home_of
from clmapreduce.checks import quoted, switch
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.device.convert import array
from clmapreduce.errors import FormulaError, ModeError, ShapeError
from clmapreduce.pairwise.genred import Genred
from clmapreduce.pairwise.guest import GuestArray
from clmapreduce.pairwise.inputs import Inputs, Slot, placeholder
from clmapreduce.pairwise.lazy.base import Symbolic
from clmapreduce.pairwise.lazy.operators import Arithmetic
from clmapreduce.pairwise.options import keywords
from clmapreduce.pairwise.reduction import Reduced
from clmapreduce.pairwise.solve import SolveStatus, solve
from clmapreduce.pairwise.user_arrays import LETTERS
from clmapreduce.ranges import as_ranges
from clmapreduce.vector.node import Category, Variable, Vector, postorder

SOLVING = ("alpha", "eps", "max_iterations", "preconditioner", "x0", "return_status", "progress")


class Solver:
    """A callable that finds a with α a + Σ F(a) = b, the sum over one axis of a formula that is linear in a.

    Its arguments are one array per placeholder, in the order of their indices; b takes the place of a. It gives an
    array (.., N, D), and keeps how the last call ended in `status`. Keywords: alpha, the ridge α; eps, the root mean
    square that the residual of every column may have; max_iterations, preconditioner, x0, progress as of `solve`;
    return_status=True for (a, status); and those of a reduction but `out`. Warns where the residual is larger.

    Raises ShapeError where a and b differ in length or dimension, and what reductions raise.
    """

    status: SolveStatus | None = None

    def __init__(self, axis: int, formula: Vector, inputs: Inputs, unknown: int, options: dict[str, Any]) -> None:
        self.axis, self.formula, self.inputs, self.unknown, self.options = axis, formula, inputs, unknown, options
        variable = inputs.variables[unknown]
        if variable not in formula.variables:
            raise FormulaError(f"{inputs.slots[unknown].label} does not occur in {formula!r}, which cannot be solved")
        if variable.category is not (Category.J if axis else Category.I):
            raise ShapeError(
                f"{inputs.slots[unknown].label} is not summed over by axis={axis}; the unknown is a "
                f"{'Vj' if axis else 'Vi'} there"
            )
        if variable.dim != formula.dim:
            raise ShapeError(
                f"the formula has dimension {formula.dim}, the unknown is {inputs.slots[unknown].label}; "
                "both must agree"
            )
        self.coupled = not _apart(formula, variable)

    def __call__(self, *arrays: Any, **options: Any) -> Any:
        """The solution for these arrays."""
        all_options = {**self.options, **options}
        all_options["ranges"] = as_ranges(all_options.get("ranges"))
        if all_options.pop("out", None) is not None:
            raise ModeError("out= is not offered by a solver; take the array that it gives")
        solving = {name: all_options.pop(name) for name in SOLVING if name in all_options}
        inputs = self.inputs.bound(arrays) if arrays or self.inputs.unbound else self.inputs
        context = keywords(all_options)["context"]
        if any(isinstance(slot.array, GuestArray) for slot in inputs.slots):
            raise ModeError("a solver reads its arrays many times; give NumPy arrays or DeviceArrays: x.compute()")
        on_device, home, inputs = _uploaded(_spread(inputs, self.unknown), context)
        rows, columns = inputs.shape[-2:]
        if rows != columns:
            shapes = ", ".join(str(slot) for slot in inputs.slots)
            raise ShapeError(f"a system of {rows} × {columns} ({shapes}) cannot be solved; M and N must be equal")
        right = inputs.slots[self.unknown]
        slots = list(inputs.slots)
        slots[self.unknown] = placeholder(0, right.dim, right.category)
        all_options["context"] = home
        matvec = Reduced("Sum", self.axis, self.formula, Inputs(slots), None, None, all_options)
        with_status = switch(solving.pop("return_status", False), "return_status")
        solving["tolerance"] = solving.pop("eps", 1e-6)
        mode = all_options.get("mode", "auto")
        x, self.status = solve(matvec, right.array, coupled=self.coupled, mode=mode, **solving)
        if not self.status.converged:
            warnings.warn(complaint(self.status, solving["tolerance"]), RuntimeWarning, stacklevel=3)
        x = x if on_device else x.to_numpy()
        return (x, self.status) if with_status else x


class KernelSolve:
    """Solves (α Id + K) a = b, K a the sum over i (axis=0, the default) or j (axis=1) of a formula linear in a.

    formula, aliases and the keywords: as for `Genred`. varinvalias: the alias of a, or Var(place, dim, category). The
    operator must be symmetric and positive definite; nothing checks that. Columns of b that the formula does not mix
    are separate systems.
    """

    solving: ClassVar[type[Solver]] = Solver
    """What solves the system."""

    def __init__(
        self, formula: str, aliases: Sequence[str], varinvalias: str, axis: int = 0, dtype: Any = None,
        opt_arg: Any = None, dtype_acc: str = "auto", use_double_acc: bool = False, sum_scheme: str = "auto",
        enable_chunks: bool = True, rec_multVar_highdim: bool | None = None, use_fast_math: bool = True,
    ) -> None:  # fmt: skip
        if dtype is not None:
            warnings.warn("KernelSolve takes the arrays' dtype; dtype= changes nothing", DeprecationWarning, 2)
        summing = Genred(formula, aliases, "Sum", axis, opt_arg)
        self.formula, self.aliases, self.varinvalias, self.axis = formula, summing.aliases, varinvalias, axis
        summed = summing._reduced
        options = {
            "dtype_acc": dtype_acc, "use_double_acc": use_double_acc, "sum_scheme": sum_scheme,
            "use_fast_math": use_fast_math,
        }  # fmt: skip
        self._solver = self.solving(axis, summed.formula, summed.inputs, _place(varinvalias, summed.inputs), options)

    @property
    def status(self) -> SolveStatus | None:
        """How the last call ended."""
        return self._solver.status

    def __call__(
        self, *args: Any, backend: str = "auto", device_id: int = -1, alpha: float = 1e-10, eps: float = 1e-6,
        ranges: Any = None, max_iterations: int | None = None, preconditioner: Any = None, x0: Any = None,
        return_status: bool = False, mode: str = "auto", context: Context | None = None, progress: Any = None,
    ) -> Any:  # fmt: skip
        """a for these arrays, one per alias, with b in the place of a: (.., M, D) for axis=1, (.., N, D) for axis=0.

        The keywords and errors are those of `Solver`.
        """
        return self._solver(
            *args, backend=backend, device_id=device_id, alpha=alpha, eps=eps, ranges=ranges,
            max_iterations=max_iterations, preconditioner=preconditioner, x0=x0, return_status=return_status, mode=mode,
            context=context, progress=progress,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"KernelSolve({self.formula!r}, {list(self.aliases)}, {self.varinvalias!r}, axis={self.axis})"


def solve_lazy(
    solving: type[Solver], operator: Arithmetic[Any], other: Any, var: Symbolic[Any] | None, call: bool,
    options: dict[str, Any],
) -> Any:  # fmt: skip
    """What LazyTensor.solve gives: a with Σ operator · a = other or, with var, Σ operator(var = a) = other."""
    b: Symbolic[Any] = other if isinstance(other, Symbolic) else operator.kinds[False](other, 0)
    for tensor in (operator, b):
        tensor._refuse_complex("solve")
    if not isinstance(b.formula, Variable) or b.formula.category is Category.PARAMETER:
        raise ShapeError(f"the right-hand side is {b!r}; give an array, or one variable indexed by i or j")
    (right,) = b.inputs.slots
    category = Category.J if right.category is Category.I else Category.I
    if var is None:
        free = 1 + max((slot.index or 0 for slot in (*operator.inputs.slots, right)), default=0)
        unknown = placeholder(free, right.dim, category)
        inputs = Inputs([unknown])
        operator = operator * operator._new(inputs.variables[0], inputs)
    else:
        if not isinstance(var, Symbolic) or len(var.inputs.slots) != 1:
            raise FormulaError(f"var is {var!r}; give the placeholder that is solved for, such as cm.Vi(0, 2)")
        (unknown,) = var.inputs.slots
    place = operator.inputs.places.get(unknown.key)
    if place is None:
        raise FormulaError(f"{unknown.label} does not occur in {operator!r}, which cannot be solved for it")
    if (unknown.dim, unknown.category) != (right.dim, category):
        expected = f"{LETTERS[category]}({right.dim})"
        raise ShapeError(f"the unknown is {unknown.label}; for the right-hand side {right.label} it must be {expected}")
    slots = list(operator.inputs.slots)
    slots[place] = replace(right, category=category, key=("right-hand side", right.key))
    options = {**operator.choices.keywords, **options}
    solver = solving(int(category), operator.formula, Inputs(slots), place, options)
    return solver() if switch(call, "call") and not solver.inputs.unbound else solver


def _apart(formula: Vector, variable: Variable) -> bool:
    """Whether every coordinate of the formula depends on that coordinate of the variable alone."""
    steps = [v for v in postorder([formula]) if variable in v.variables and v is not variable]
    return all(v.operation.elementwise and v.dim == variable.dim for v in steps)


def _place(alias: str, inputs: Inputs) -> int:
    """Which variable an alias, or Var(place, dim, category), names. Raises FormulaError."""
    if not isinstance(alias, str):
        raise FormulaError(f"varinvalias is {quoted(alias)}; give the alias of the variable to solve for, a text")
    text = alias.replace(" ", "")
    for place, slot in enumerate(inputs.slots):
        if text == slot.name or text.startswith(f"Var({place},"):
            return place
    labels = ", ".join(slot.label for slot in inputs.slots)
    raise FormulaError(f"{alias!r} is none of the variables {labels}; name the one to solve for")


def _spread(inputs: Inputs, place: int) -> Inputs:
    """With the array at this place in every batch, where it was one for several."""
    slots = list(inputs.slots)
    slot = slots[place]
    if slot.batch == inputs.batch or slot.array is None:
        return inputs
    whole = np.ascontiguousarray(np.broadcast_to(np.asarray(slot.array), (*inputs.batch, *slot.array.shape[-2:])))
    home = slot.array.context if isinstance(slot.array, DeviceArray) else None
    slots[place] = replace(slot, array=whole if home is None else array(whole, home))
    return Inputs(slots)


def _uploaded(inputs: Inputs, context: Context | None) -> tuple[bool, Context, Inputs]:
    """Whether an array was on a device, where all of them are now, and the inputs with them."""
    arrays = inputs.arrays.values()
    homes = {id(x.context): x.context for x in arrays if isinstance(x, DeviceArray)}
    home = home_of(list(homes.values()), context)
    return bool(homes), home, on_device(inputs, home)


def on_device(inputs: Inputs, home: Context) -> Inputs:
    """The inputs with all arrays on a device."""
    return Inputs(_on(slot, home) for slot in inputs.slots)


def _on(slot: Slot, home: Context) -> Slot:
    return replace(slot, array=array(slot.array, home))


def complaint(status: SolveStatus, tolerance: float) -> str:
    """Why a solve did not converge, and what may help."""
    if status.reason == "not finite":
        return (
            f"no solution after {status.iterations} iterations: a NaN or an infinity came up; "
            "look for one in b, x0, the preconditioner and what the formula gives"
        )
    why = {"iterations": "the cap is reached", "indefinite": "the operator is not positive definite to its precision"}
    return (
        f"no convergence after {status.iterations} iterations ({why[status.reason]}): the residual is "
        f"{status.residual:.1e}, not {tolerance:.0e}; raise alpha, eps or max_iterations, or give a preconditioner"
    )
