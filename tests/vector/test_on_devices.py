"""Operations as kernels compute them, on every device: written out as scalars and mapped, against NumPy's float64."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from support.vector_oracle import close

import clmapreduce as cm
from clmapreduce.formula.node import Literal, Node
from clmapreduce.vector import OPERATIONS as O
from clmapreduce.vector import Constant, Variable, Vector
from clmapreduce.vector.derivative import gradient
from clmapreduce.vector.evaluate import evaluate, scalars

X, Y, Z = Variable(0, 1, 0), Variable(1, 1, 0), Variable(2, 1, 0)
XYZ = O["Concat"](X, Y, Z)
FORMULAS: list[Vector] = [
    *(
        O[name](X)
        for name in (
            "Minus", "Abs", "Inv", "Square", "Exp", "Cos", "Sin", "SinXDivX", "Sinc", "Atan", "Sign", "Step", "ReLU",
            "Floor", "Round",
        )
    ),
    *(O[name](Y) for name in ("Sqrt", "Rsqrt", "Log", "XLogX", "Asin", "Acos")),
    *(O[name](X, Y) for name in ("Divide", "Atan2", "Equal", "NotEqual", "LessThan", "LessOrEqual", "DivideOrZero")),
    *(O[name](XYZ) for name in ("Max", "Min", "ArgMax", "ArgMin", "Norm2")),
    *(O[name](X, Y, Z) for name in ("Mod", "Clamp", "IfElse")),
    O["Powf"](Y, X), X**3, X**-5, O["Round"](X, 1), O["Elem"](O["OneHot"](Y * 3, 3), 1),
    O["Elem"](O["BSpline"](Constant((-2.0, -1.0, -1.0, 0.5, 2.0)), X, 2), 1), O["SoftMin"](Y, X, Z),
    gradient(O["SinXDivX"](X), X), gradient(O["Norm2"](XYZ), X), gradient(O["Clamp"](X, Y, Z), X),
]  # fmt: skip
CORNERS = np.array([(0, 0, 0), (0, 1, -1), (1, 1, 1), (-1, 1, 1), (0.5, 0, 2), (-0.5, 1, 0.5), (1.5, 0.5, -0.5)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_operations_on_every_device(dtype: type, context: cm.Context, rng: np.random.Generator) -> None:
    if dtype == np.float64 and not context.device.fp64:
        pytest.skip("no float64 here")

    def map_all(*columns: Node) -> tuple[Node, ...]:
        def leaf(part: Vector) -> Sequence[Node]:
            if isinstance(part, Variable):
                return [columns[part.position]]
            values = part.values if isinstance(part, Constant) else [0.0] * part.dim
            return [Literal(value, np.dtype(dtype)) for value in values]

        return tuple(node for (node,) in scalars(FORMULAS, leaf))

    random = np.stack([rng.uniform(-3, 3, 200), rng.uniform(0.05, 1, 200), rng.uniform(-1, 1, 200)], -1)
    table = np.concatenate([random, CORNERS]).astype(dtype)
    actual = cm.Map(map_all)(*table.T.copy(), context=context)
    numbers = {v: table[:, v.position, None].astype(float) for v in (X, Y, Z)}
    for f, values in zip(FORMULAS, actual, strict=True):
        assert values.dtype == dtype, f
        expected = evaluate(f, numbers)[:, 0]
        with np.errstate(all="ignore"):
            same_dtype = evaluate(f, {v: array.astype(dtype) for v, array in numbers.items()})[:, 0].astype(float)
        finite = np.isfinite(expected) & np.isfinite(same_dtype)
        np.testing.assert_array_equal(np.isfinite(values), finite, err_msg=repr(f))
        rounding = np.abs(same_dtype[finite] - expected[finite]).max()
        close(values[finite].astype(float), expected[finite], 50 * float(np.finfo(dtype).eps) + 4 * float(rounding))
