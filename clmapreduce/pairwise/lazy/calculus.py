"""Derivatives of LazyTensors, as LazyTensors."""

from __future__ import annotations

from typing import Any, TypeVar

from clmapreduce.errors import FormulaError, ShapeError
from clmapreduce.pairwise.inputs import Inputs, renamed
from clmapreduce.pairwise.lazy.base import built, joined
from clmapreduce.pairwise.lazy.lookups import Lookups
from clmapreduce.vector.node import Variable, Vector

C = TypeVar("C", bound="Calculus[Any]")


class Calculus(Lookups[C]):
    """Symbolic derivatives. Variables are LazyTensors that are nothing else: `Vi(x)`, `Vj(1, 3)`, `LazyTensor(a)`.
    Two of the same memory are one variable. Lists and arrays in another byte order are copied, so each LazyTensor of
    one is a variable of its own: differentiate by the one that the formula was made of. By others the derivative is 0.

    Raises FormulaError for an argument that is not a variable and for formulas without a derivative, ShapeError for
    dimensions.
    """

    __slots__ = ()

    def grad(self, other: Any, gradin: Any) -> C:
        """The derivative by the variable `other`, transposed and applied to gradin, of self's dimension."""
        return self._derivative("Grad", other, gradin, self.ndim)

    def diff(self, other: Any, diffin: Any) -> C:
        """The derivative by the variable `other` in the direction diffin, of other's dimension."""
        return self._derivative("Diff", other, diffin, self._lift(other).ndim)

    def grad_matrix(self, other: Any) -> C:
        """The matrix of all derivatives of coordinates by those of the variable `other`."""
        formula, variable, inputs = self._with(other, "grad_matrix")
        return self._like(built("GradMatrix", formula, variable), inputs)

    def divergence(self, var: Any) -> C:
        """The sum of the derivatives of each coordinate by the same one of the variable, of self's dimension."""
        formula, variable, inputs = self._with(var, "divergence")
        return self._like(built("Divergence", formula, variable), inputs)

    def laplacian(self, var: Any) -> C:
        """The sum of the second derivatives by each coordinate of the variable; self is a scalar."""
        formula, variable, inputs = self._with(var, "laplacian")
        return self._like(built("Laplacian", formula, variable), inputs)

    def trace_operator(self, var: Any) -> C:
        """The trace of self as a linear function of the variable, which disappears."""
        formula, variable, inputs = self._with(var, "trace_operator")
        trace = built("TraceOperator", formula, variable)
        if inputs.slots[variable.position].index is None or variable in trace.variables:
            return self._like(trace, inputs)
        inputs, names = inputs.without(variable.position)
        return self._like(renamed(trace, tuple(names.items())), inputs)

    def factorize(self, other: Any) -> C:
        """self: equal parts of a formula are computed once as it is."""
        return self._real_binary("Factorize", other)

    def auto_factorize(self) -> C:
        """self: equal parts of a formula are computed once as it is."""
        return self._real_unary("AutoFactorize")

    def _derivative(self, name: str, other: Any, direction: Any, dim: int) -> C:
        self._refuse_complex(name)
        direction, other = self._lift(direction), self._lift(other)
        if direction.ndim not in (1, dim):
            raise ShapeError(f"{name} is applied to a vector of dimension {direction.ndim}; it needs {dim}")
        (formula, variable, e), inputs, choices = joined([self, other, direction])
        _check_variable(variable, name)
        if e.dim != dim:
            e = built("SumT", e, dim)
        result = self._like(built(name, formula, variable, e), inputs)
        result.choices = choices
        return result

    def _with(self, var: Any, name: str) -> tuple[Vector, Variable, Inputs]:
        self._refuse_complex(name)
        (formula, variable), inputs, _ = joined([self, self._lift(var)])
        return formula, _check_variable(variable, name), inputs


def _check_variable(vector: Vector, name: str) -> Variable:
    if not isinstance(vector, Variable):
        raise FormulaError(f"{name} differentiates by a variable, such as Vi(x) or Vj(1, 3), and {vector!r} is none")
    return vector
