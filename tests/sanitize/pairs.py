"""Cases of pairs: every operator of the portable schemes, and the schemes of matrix units as their words are spelled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from sanitize.case import Case, Check, parallel
from support.dense_pairs import NAMES
from support.dense_pairs import Case as Dense
from support.matrix_units import units_everywhere
from support.pair_plans import vector

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.pairwise.call import PairCall, prepare_pairs
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS, PairOptions
from clmapreduce.schemes.pairs.matrix.boxes import MATRIX_NEAREST_CPU
from clmapreduce.vector import Variable

SMALL, LONG = (37, 90), 20
"""Rows and columns; numbers of a long vector."""
NEAR = [name for name in NAMES if "Arg" in name or "KMin" in name or name in ("Min", "Max")]
FOLDS = [name for name in NAMES if name not in NEAR]
RNG = np.random.default_rng(22)


def points(count: int, dim: int) -> Any:
    return RNG.uniform(-1, 1, (count, dim)).astype("f4")


def reduce_all(names: list[str], context: cm.Context, mode: str, size: tuple[int, int] = SMALL, **how: Any) -> Iterator[Check]:
    """Reductions against dense NumPy, which the test's own oracle compares. how: as in a `support.dense_pairs.Case`."""
    for name in names:
        Dense(name, **how).check(RNG, context, mode, [size])
    yield from ()


def squares(x: Any, y: Any) -> Any:
    return np.square(x.astype("f8")[:, None] - y).sum(-1)


def vectors(dim: int, context: cm.Context, mode: str) -> Iterator[Check]:
    """Sums whose terms are long vectors; parts that are long and short; gradients; softmax. dim: of the points."""
    how: dict[str, Any] = {"context": context, "mode": mode, "axis": 1}
    b = points(SMALL[1], 40)
    x, y = points(SMALL[0], dim), points(SMALL[1], dim)
    apart = squares(x, y)
    distance = cm.Vi(x).sqdist(cm.Vj(y))
    terms = np.exp(-apart)
    for backend in ("auto", "2D"):
        result = ((-distance).exp() * cm.Vj(b)).sum(backend=backend, **how)
        yield f"Gaussian of {dim}, {backend}", result, terms @ b
    result = ((1 + distance).rsqrt() * cm.Vj(b)).sum(**how)
    yield f"multiquadric of {dim}", result, (1 + apart) ** -0.5 @ b
    result = (-distance).sumsoftmaxweight(cm.Vj(b), **how)
    yield f"softmax of {dim}", result, terms @ b / terms.sum(1, keepdims=True)
    slopes = -2 * (terms[..., None] * (x.astype("f8")[:, None] - y)).sum(1)
    value = (-distance).exp()
    yield f"gradient of {dim}", value.grad(cm.Vi(x), 1).sum(**how), slopes
    both = value.concat(value.grad(cm.Vi(x), 1)).sum(**how)
    yield f"value and gradient of {dim}", both, np.concatenate([terms.sum(1, keepdims=True), slopes], 1)


def angles(context: cm.Context, mode: str) -> Iterator[Check]:
    """Long vectors of which each side's norm is computed once."""
    x, y = points(SMALL[0], LONG), points(SMALL[1], LONG)
    wide = x.astype("f8") @ y.T / np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1))
    rows, columns = cm.Vi(x), cm.Vj(y)
    cosine = (rows | columns) / (rows.norm2() * columns.norm2())
    how: dict[str, Any] = {"context": context, "mode": mode, "axis": 1}
    yield "sum", cosine.sum(**how), wide.sum(1, keepdims=True)
    yield "argmax", cosine.argmax(**how), wide.argmax(1)[:, None]
    yield "logsumexp", cosine.logsumexp(**how), np.log(np.exp(wide).sum(1, keepdims=True))


def blocks(context: cm.Context, mode: str) -> Iterator[Check]:
    """Pairs of which only some count."""
    keep = np.repeat(np.repeat(RNG.random((4, 9)) < 0.6, 10, 0)[: SMALL[0]], 10, 1)
    keep[:, -1] = True
    ranges = cm.Ranges.from_mask(keep)
    how: dict[str, Any] = {"context": context, "mode": mode, "axis": 1, "ranges": ranges}
    b = points(SMALL[1], 40)
    for dim in (3, LONG):
        x, y = points(SMALL[0], dim), points(SMALL[1], dim)
        apart = squares(x, y)
        distance = cm.Vi(x).sqdist(cm.Vj(y))
        terms = np.exp(-apart) * keep
        far = np.where(keep, apart, np.inf)
        yield f"sum of {dim}", (-distance).exp().sum(**how), terms.sum(1, keepdims=True)
        yield f"argmin of {dim}", distance.argmin(**how), far.argmin(1)[:, None]
        yield f"three nearest of {dim}", distance.argKmin(3, **how), np.argsort(far, 1)[:, :3]
        yield f"logsumexp of {dim}", (-distance).logsumexp(**how), np.log(terms.sum(1, keepdims=True))
        yield f"weighted of {dim}", ((-distance).exp() * cm.Vj(b)).sum(**how), terms @ b


def nearest(context: cm.Context, mode: str) -> Iterator[Check]:
    """The best of many columns."""
    how: dict[str, Any] = {"context": context, "mode": mode, "axis": 1}
    for dim in (3, 40):
        x, y = points(SMALL[0], dim), points(150, dim)
        apart, distance = squares(x, y), cm.Vi(x).sqdist(cm.Vj(y))
        yield f"nearest of {dim}", distance.argmin(**how), apart.argmin(1)[:, None]
        yield f"five nearest of {dim}", distance.argKmin(5, **how), np.argsort(apart, 1)[:, :5]
        yield f"three smallest of {dim}", distance.Kmin(3, **how), np.sort(apart, 1)[:, :3]


def lists(context: cm.Context, mode: str) -> Iterator[Check]:
    """The best columns of distances of long vectors, listed by products and computed as the formula says."""
    x, y = points(SMALL[0], 40), points(150, 40)
    apart = squares(x, y)
    arrays = {Variable(0, 40, 0): x, Variable(1, 40, 1): y}
    for name, k, expected in (("ArgMin", None, apart.argmin(1)[:, None]), ("ArgKMin", 5, np.argsort(apart, 1)[:, :5])):
        call = PairCall(vector("SqDist(Vi(0,40),Vj(1,40))"), PAIR_REDUCTIONS[name], 1, None, PairOptions(k=k))
        prepared = prepare_pairs(call, arrays, Options(mode, context), MATRIX_NEAREST_CPU)
        assert isinstance(prepared, Prepared)
        yield name, prepared.run()[0], expected


def by_units(calls: Callable[[cm.Context, str], Iterator[Check]]) -> Case:
    """The same calls as a device with matrix units computes them."""

    def checks(context: cm.Context, mode: str) -> Iterator[Check]:
        with pytest.MonkeyPatch.context() as patch:
            uses = units_everywhere(patch)
            yield from calls(context, mode)
            assert any(uses)

    return parallel(checks)


CASES = {
    "pairs, folded": Case(partial(reduce_all, FOLDS)), "pairs, places": Case(partial(reduce_all, NEAR)),
    "pairs in shares": Case(partial(reduce_all, ["Sum", "Max", "ArgMin", "KMin_ArgKMin", "LogSumExp", "either"], backend="2D")),
    "pairs of a few rows": Case(partial(reduce_all, ["Sum", "Product", "Min", "ArgKMin", "LogSumExp", "last"], size=(3, 4200))),
    "pairs of long vectors": Case(partial(reduce_all, ["Sum", "Min_ArgMin", "LogSumExp", "SumSoftMaxWeight"], dim=LONG)),
    "pairs in batches": Case(partial(reduce_all, ["Sum", "ArgMin"], batch=((2, 1), (3,)))),
    "pairs, vectors": Case(partial(vectors, 3)), "pairs, vectors of long ones": Case(partial(vectors, LONG)),
    "pairs, angles": Case(angles), "pairs, blocks": Case(blocks),
    "pairs, nearest": Case(nearest),
    "units, folded": by_units(partial(reduce_all, ["Sum", "Mean", "LogSumExp", "LogSumExpWeight", "SumSoftMaxWeight"])),
    "units, far away": by_units(partial(reduce_all, ["Sum", "LogSumExp"], centre=1000.0)),
    "units, long vectors": by_units(partial(reduce_all, ["Sum", "LogSumExp", "Min_ArgMin"], dim=LONG)),
    "units, vectors": by_units(partial(vectors, 3)), "units, vectors of long ones": by_units(partial(vectors, LONG)),
    "units, angles": by_units(angles), "units, blocks": by_units(blocks),
    "units, nearest": by_units(nearest), "units, lists": parallel(lists),
}  # fmt: skip
