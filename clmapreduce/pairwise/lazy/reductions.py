"""The reductions of LazyTensors, over i or j, and their counterparts over the coordinates of a vector."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from clmapreduce.checks import switch
from clmapreduce.errors import ArgumentError, FormulaError, ShapeError
from clmapreduce.pairwise.lazy.base import joined
from clmapreduce.pairwise.lazy.calculus import Calculus
from clmapreduce.pairwise.user_arrays import check_complex
from clmapreduce.reductions import Operator

INNER = 2
COMPLEX = ("Sum", "Mean")
R = TypeVar("R", bound="Reductions[Any]")


class Reductions(Calculus[R]):
    """Reductions. axis, or dim, counts the batch axes first: nb + 0 reduces over i, nb + 1 over j, and -1 or nb + 2,
    where offered, works on the coordinates of the vectors and gives a LazyTensor; -3 and -2 are i and j as well.

    Over i or j the result is an array (.., N or M, ...), as `docs/guides/pairwise.md` tells for each; a DeviceArray
    where one was among the arrays. With placeholders, or call=False, it is a `Reduced`, to be called with arrays.
    Keywords: call, backend, device_id, ranges, dtype_acc, use_double_acc, sum_scheme, precision, mode, context,
    wait_for, out.
    Raises ShapeError for any other axis, and the errors of `Reduced`.
    """

    __slots__ = ()

    def reduction(
        self, reduction_op: str | Operator, other: Any = None, opt_arg: int | None = None, axis: int | None = None,
        dim: int | None = None, call: bool = True, **kwargs: Any,
    ) -> Any:  # fmt: skip
        """Any reduction by KeOps' name. other: the weight of those that take one; opt_arg: K."""
        place = self._axis(axis, dim)
        if place == INNER:
            raise ShapeError(f"{reduction_op} reduces over i or j: axis={self.nbatchdims} or {self.nbatchdims + 1}")
        return self._reduce(reduction_op, place, call, opt_arg, other, kwargs)

    def reduce(
        self, op: str | Operator | Callable[[Any, Any], Any], axis: int | None = None, dim: int | None = None,
        identity: Any = None, call: bool = True, **kwargs: Any,
    ) -> Any:  # fmt: skip
        """A reduction by a cm.Operator, or by KeOps' name; a function of two values needs its identity too."""
        if callable(op) and not isinstance(op, Operator):
            if identity is None:
                raise FormulaError(
                    "a function that combines two values needs its identity: reduce(f, axis, identity=0)"
                )
            op = _monoid(op, identity)
        return self.reduction(op, axis=axis, dim=dim, call=call, **kwargs)

    # ------------------------------------------------------------------------------------------------------------- sums
    def sum(self, axis: int = -1, dim: int | None = None, **kwargs: Any) -> Any:
        """The sum: (.., M, D)."""
        return self._either("Sum", axis, dim, kwargs, self._inner_sum)

    def sum_reduction(self, axis: int | None = None, dim: int | None = None, **kwargs: Any) -> Any:
        """The sum over i or j."""
        return self.reduction("Sum", axis=axis, dim=dim, **kwargs)

    def mean(self, axis: int = -1, dim: int | None = None, **kwargs: Any) -> Any:
        """The mean: (.., M, D)."""
        count = self.ndim // 2 if self.is_complex else self.ndim
        return self._either("Mean", axis, dim, kwargs, lambda: self._inner_sum() / count)

    def var(self, axis: int = -1, dim: int | None = None, **kwargs: Any) -> Any:
        """The variance, the mean of squared distances from the mean: (.., M, D)."""
        return self._either("Var", axis, dim, kwargs, lambda: (self - self.mean()).square().mean())

    def std(self, axis: int = -1, dim: int | None = None, **kwargs: Any) -> Any:
        """The square root of the variance: (.., M, D)."""
        return self._either("Std", axis, dim, kwargs, lambda: self.var().sqrt())

    def prod(self, axis: int = -1, dim: int | None = None, **kwargs: Any) -> Any:
        """The product: (.., M, D)."""
        return self._either("Product", axis, dim, kwargs, self._inner_product)

    def logsumexp(
        self, axis: int | None = None, dim: int | None = None, weight: Any = None, other: Any = None, **kwargs: Any
    ) -> Any:
        """log Σ exp(x) weight, self a scalar: (.., M, 1), or (.., M, D) for weights of dimension D. other: weight."""
        if weight is not None and other is not None:
            raise ArgumentError("logsumexp has weight= and other=, two words for the weight; give one of them")
        return self.reduction("LogSumExp", other if weight is None else weight, axis=axis, dim=dim, **kwargs)

    def sumsoftmaxweight(self, weight: Any, axis: int | None = None, dim: int | None = None, **kwargs: Any) -> Any:
        """Σ exp(x) weight / Σ exp(x), self a scalar: (.., M, D) for weights of dimension D."""
        return self.reduction("SumSoftMaxWeight", weight, axis=axis, dim=dim, **kwargs)

    def sumsoftmaxweight_logsumexp(
        self, weight: Any, axis: int | None = None, dim: int | None = None, **kwargs: Any
    ) -> Any:
        """(`sumsoftmaxweight`, `logsumexp`) of one pass: (.., M, D) and (.., M, 1), self a scalar.

        With the weight `g.concat(self.grad(v, 1.0))` the first result has the means of g, and behind them the gradient
        of the logarithm by v, a variable of the results' side.
        """
        return self.reduction("SumSoftMaxWeight_LogSumExp", weight, axis=axis, dim=dim, **kwargs)

    # ---------------------------------------------------------------------------------------------------------- extrema
    def min(self, axis: int = -1, dim: int | None = None, **kwargs: Any) -> Any:
        """The smallest value, NaN passed over: (.., M, D)."""
        return self._either("Min", axis, dim, kwargs, lambda: self._real_unary("Min"))

    def max(self, axis: int = -1, dim: int | None = None, **kwargs: Any) -> Any:
        """The largest value, NaN passed over: (.., M, D)."""
        return self._either("Max", axis, dim, kwargs, lambda: self._real_unary("Max"))

    def argmin(self, axis: int = -1, dim: int | None = None, **kwargs: Any) -> Any:
        """The index of the smallest value, the lowest of equal ones: int64 (.., M, D)."""
        return self._either("ArgMin", axis, dim, kwargs, lambda: self._real_unary("ArgMin"))

    def argmax(self, axis: int = -1, dim: int | None = None, **kwargs: Any) -> Any:
        """The index of the largest value, the lowest of equal ones: int64 (.., M, D)."""
        return self._either("ArgMax", axis, dim, kwargs, lambda: self._real_unary("ArgMax"))

    def min_reduction(self, axis: int | None = None, dim: int | None = None, **kwargs: Any) -> Any:
        """The smallest value over i or j."""
        return self.reduction("Min", axis=axis, dim=dim, **kwargs)

    def max_reduction(self, axis: int | None = None, dim: int | None = None, **kwargs: Any) -> Any:
        """The largest value over i or j."""
        return self.reduction("Max", axis=axis, dim=dim, **kwargs)

    def argmin_reduction(self, axis: int | None = None, dim: int | None = None, **kwargs: Any) -> Any:
        """The index of the smallest value over i or j."""
        return self.reduction("ArgMin", axis=axis, dim=dim, **kwargs)

    def argmax_reduction(self, axis: int | None = None, dim: int | None = None, **kwargs: Any) -> Any:
        """The index of the largest value over i or j."""
        return self.reduction("ArgMax", axis=axis, dim=dim, **kwargs)

    def min_argmin(self, axis: int | None = None, dim: int | None = None, **kwargs: Any) -> Any:
        """(smallest values, their indices)."""
        return self.reduction("Min_ArgMin", axis=axis, dim=dim, **kwargs)

    def max_argmax(self, axis: int | None = None, dim: int | None = None, **kwargs: Any) -> Any:
        """(largest values, their indices)."""
        return self.reduction("Max_ArgMax", axis=axis, dim=dim, **kwargs)

    def Kmin(self, K: int, axis: int | None = None, dim: int | None = None, **kwargs: Any) -> Any:
        """The K smallest values, ascending: (.., M, K), or (.., M, K, D) for vectors."""
        return self.reduction("KMin", opt_arg=K, axis=axis, dim=dim, **kwargs)

    def argKmin(self, K: int, axis: int | None = None, dim: int | None = None, **kwargs: Any) -> Any:
        """The indices of the K smallest values, ties by the lower index: int64 (.., M, K) or (.., M, K, D)."""
        return self.reduction("ArgKMin", opt_arg=K, axis=axis, dim=dim, **kwargs)

    def Kmin_argKmin(self, K: int, axis: int | None = None, dim: int | None = None, **kwargs: Any) -> Any:
        """(the K smallest values, their indices)."""
        return self.reduction("KMin_ArgKMin", opt_arg=K, axis=axis, dim=dim, **kwargs)

    # ------------------------------------------------------------------------------------------------------------ truth
    def any(self, axis: int = -1, dim: int | None = None, **kwargs: Any) -> Any:
        """Whether some value is not 0: bool (.., M, D)."""
        return self._either("Any", axis, dim, kwargs, lambda: (self != 0).max())

    def all(self, axis: int = -1, dim: int | None = None, **kwargs: Any) -> Any:
        """Whether no value is 0: bool (.., M, D)."""
        return self._either("All", axis, dim, kwargs, lambda: (self != 0).min())

    # KeOps' second names
    logsumexp_reduction = logsumexp
    sumsoftmaxweight_reduction = sumsoftmaxweight
    min_argmin_reduction = min_argmin
    max_argmax_reduction = max_argmax
    Kmin_reduction = Kmin
    argKmin_reduction = argKmin
    Kmin_argKmin_reduction = Kmin_argKmin

    # ---------------------------------------------------------------------------------------------------------- helpers
    def _axis(self, axis: int | None, dim: int | None) -> int:
        """0 for i, 1 for j, INNER for the coordinates."""
        number, count = axis if dim is None else dim, self.nbatchdims
        if isinstance(number, (int, np.integer)) and not isinstance(number, bool):
            place = number - count if number >= 0 else number + INNER + 1
            if place in (0, 1, INNER):
                return place
        raise ShapeError(
            f"axis={number!r} cannot be reduced; this LazyTensor of shape {self.shape} offers {count} (over i), "
            f"{count + 1} (over j) or {count + 2}"
        )

    def _either(
        self, reduction: str, axis: int, dim: int | None, kwargs: dict[str, Any], inner: Callable[[], R]
    ) -> Any:
        place = self._axis(axis, dim)
        if place != INNER:
            return self._reduce(reduction, place, kwargs.pop("call", True), None, None, kwargs)
        switch(kwargs.pop("keepdim", True), "keepdim")  # as in KeOps: the axis of coordinates stays in any case
        if kwargs:
            raise ShapeError(
                f"{', '.join(kwargs)} is for a reduction over i or j; over the coordinates none is computed"
            )
        return inner()

    def _reduce(
        self, reduction: str | Operator, axis: int, call: bool, k: int | None, other: Any, options: dict[str, Any]
    ) -> Any:
        name = reduction if isinstance(reduction, str) else "an operator"
        if name not in COMPLEX:
            self._refuse_complex(name)
        weight = None
        operands: list[Reductions[Any]] = [self] if other is None else [self, self._lift(other)]
        (formula, *weights), inputs, choices = joined(operands)
        if other is not None:
            operands[1]._refuse_complex("a weight")
            weight = weights[0]
        options = {**choices.keywords, **options}
        if self.is_complex and inputs.dtype is not None:
            check_complex(inputs.dtype)
        finish = self._finished if self.is_complex else None
        reduced = self.reducing(reduction, axis, formula, inputs, weight, k, options, finish)
        return reduced() if switch(call, "call") and not inputs.unbound else reduced

    def _finished(self, result: Any) -> Any:
        return result

    def _inner_sum(self) -> R:
        return self._unary("Sum")

    def _inner_product(self) -> R:
        self._refuse_complex("prod")
        result = self.elem(0)
        for k in range(1, self.ndim):
            result = result * self.elem(k)
        return result


@lru_cache(maxsize=256, typed=True)
def _monoid(combine: Callable[[Any, Any], Any], identity: Any) -> Operator:
    """The operator of a function, the same one for the same function."""
    return Operator(combine, identity)
