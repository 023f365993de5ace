"""Genred: a reduction of a formula that is written as text."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

from clmapreduce.calls.explain import Explanation
from clmapreduce.device.context import Context
from clmapreduce.errors import FormulaError
from clmapreduce.pairwise.inputs import Inputs, placeholder
from clmapreduce.pairwise.options import USUAL
from clmapreduce.pairwise.reduction import Reduced
from clmapreduce.reductions import Operator
from clmapreduce.vector.parse import parse


class Genred:
    """A reduction over i (axis=0, the default) or j (axis=1) of a formula in KeOps' notation.

    formula: such as "Exp(-SqDist(x, y) / g) * b". aliases: one per argument of a call, such as "x = Vi(3)", "y =
    Vj(3)", "g = Pm(1)"; "x = Vi(0, 3)" and "x = Var(0, 3, 0)" also name the place of the argument. The formula itself
    may contain Var(place, dim, category). reduction_op: a name in `docs/guides/pairwise.md`, or a cm.Operator. opt_arg:
    K of KMin, ArgKMin and KMin_ArgKMin. formula2: the weight of LogSumExp and SumSoftMaxWeight. dtype_acc,
    use_double_acc, sum_scheme: the dtype and the method of sums. precision="exact", or KeOps' use_fast_math=False:
    functions as in maps, instead of the faster ones of inner loops. enable_chunks, rec_multVar_highdim, dtype and
    cuda_type are KeOps' keywords and have no effect.

    Raises FormulaError naming the unknown part of a formula, ShapeError for dimensions that do not fit, ModeError or
    DTypeError for unsupported options.
    """

    reducing: ClassVar[type[Reduced]] = Reduced
    """What computes the reduction."""

    def __init__(
        self, formula: str, aliases: Sequence[str], reduction_op: str | Operator = "Sum", axis: int = 0,
        opt_arg: int | None = None, formula2: str | None = None, dtype_acc: str = "auto", use_double_acc: bool = False,
        sum_scheme: str = "auto", enable_chunks: bool = True, rec_multVar_highdim: bool = False,
        use_fast_math: bool = True, *, precision: str = "auto", dtype: Any = None, cuda_type: Any = None,
    ) -> None:  # fmt: skip
        if dtype is not None or cuda_type is not None:
            warnings.warn("Genred takes the arrays' dtype; dtype= and cuda_type= change nothing", DeprecationWarning, 2)
        if not isinstance(aliases, (list, tuple)) or not all(isinstance(alias, str) for alias in aliases):
            raise FormulaError(f'aliases are {aliases!r}; give a list of texts, such as ["x = Vi(3)", "y = Vj(3)"]')
        for name, text in (("formula", formula), ("formula2", "" if formula2 is None else formula2)):
            if not isinstance(text, str):
                raise FormulaError(f'{name} is {text!r}; give a text, such as "Exp(-SqDist(x, y))"')
        self.formula, self.aliases, self.reduction_op, self.axis = formula, tuple(aliases), reduction_op, axis
        self.opt_arg, self.formula2 = opt_arg, formula2
        named = _named(self.aliases)
        value, variables = parse(formula, named)
        weight = None
        if formula2 is not None:
            weight, more = parse(formula2, named)
            variables = (*variables, *(v for v in more if v not in variables))
        variables = tuple(sorted(variables, key=lambda v: v.position))
        if [v.position for v in variables] != list(range(len(variables))):
            places = ", ".join(str(v.position) for v in variables)
            raise FormulaError(f"the variables of {formula!r} have places {places}; they must be 0 … without gaps")
        names = _names(self.aliases)
        inputs = Inputs(placeholder(v.position, v.dim, v.category, names.get(v.position, "")) for v in variables)
        options = {
            "dtype_acc": dtype_acc, "use_double_acc": use_double_acc, "sum_scheme": sum_scheme, "precision": precision,
            "use_fast_math": use_fast_math,
        }  # fmt: skip
        self._reduced = self.reducing(reduction_op, axis, value, inputs, weight, opt_arg, options)

    def __call__(
        self, *args: Any, backend: str = "auto", device_id: int = -1, ranges: Any = None, out: Any = None,
        mode: str = "auto", context: Context | None = None, wait_for: Sequence[Any] = (), progress: Any = None,
    ) -> Any:  # fmt: skip
        """The reduction of these arrays, one per alias: (.., M, D) for Vi, (.., N, D) for Vj, (.., D) or, for D = 1, a
        number for Pm.

        Returns (.., M, ...) for axis=1, (.., N, ...) for axis=0: DeviceArrays if an argument is one, else NumPy arrays.
        Raises ShapeError and DTypeError naming the alias before anything is launched.
        """
        options = {
            "backend": backend, "device_id": device_id, "ranges": ranges, "out": out, "mode": mode, "context": context,
            "wait_for": wait_for, "progress": progress,
        }  # fmt: skip
        return self._reduced(*args, **{name: value for name, value in options.items() if value is not USUAL[name]})

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """How a call with these arguments would run: scheme, why, and each launch. Nothing is launched."""
        return self._reduced.explain(*args, **kwargs)

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The OpenCL C that a call with these arguments would run."""
        return self._reduced.source(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Genred({self._reduced!r})"


def _named(aliases: Sequence[str]) -> list[str]:
    """The aliases, those that KeOps lets go without a name, such as "Vi(3)", with one."""
    return [alias if "=" in alias else f"argument_{place} = {alias}" for place, alias in enumerate(aliases)]


def _names(aliases: Sequence[str]) -> dict[int, str]:
    """The name of every argument that has one, by its place."""
    names = {}
    for place, alias in enumerate(aliases):
        name, equals, declared = alias.partition("=")
        if equals:
            numbers = declared[declared.find("(") + 1 : declared.rfind(")")].split(",")
            names[int(numbers[0]) if len(numbers) > 1 else place] = name.strip()
    return names
