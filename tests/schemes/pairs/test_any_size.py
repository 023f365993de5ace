"""Plans of pairs of any size: however many coordinates, weights, columns to keep and points, there is one, and its
kernels fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.pair_plans import form_of
from support.plans import FACTS, MODES

from clmapreduce.domain.dense import Pairwise
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Plan
from clmapreduce.planning.pair_request import passes_of
from clmapreduce.planning.passes import Setting

DISTANCE, INNER = "SqDist(Vi(0,{0}),Vj(1,{0}))", "(Vi(0,{0})|Vj(1,{0}))"
GAUSS = f"Exp(-{DISTANCE})"
SUMS = {
    "weights": GAUSS + "*Vj(2,{1})",
    "distances": "Exp(-Norm2(Vi(0,{0})-Vj(1,{0})))*Vj(2,{1})",
    "gradients": "Grad(" + GAUSS + "*Vj(2,{1}),Vi(0,{0}),Vi(3,{1}))",
    "differences": GAUSS + "*(Vi(0,{0})-Vj(1,{0}))",
    "tensors": GAUSS + "*TensorProd(Vi(0,{0})-Vj(1,{0}),Vj(2,3))",
    "two kernels": GAUSS + "*Exp(-SqDist(Vi(3,{1}),Vj(4,{1})))*Vj(2,1)",
    "waves": f"Sin({INNER})*" + "Vj(2,{1})",
}
OTHERS = {
    "softmax": (f"-{DISTANCE}", "SumSoftMaxWeight", {"weight": "Vj(2,{1})"}),
    "softmax of products": (INNER, "SumSoftMaxWeight", {"weight": "Vj(2,{1})"}),
    "logarithms": (f"-{DISTANCE}", "LogSumExp", {}),
    "nearest": (DISTANCE, "ArgKMin", {}),
    "nearest, and how far": (DISTANCE, "KMin_ArgKMin", {}),
    "greatest": (INNER, "Max_ArgMax", {}),
    "vectors": ("Vi(0,{0})-Vj(1,{0})", "Min", {}),
}
SIZES, COUNTS = (1, 2, 3, 4, 7, 8, 12, 16, 17, 20, 24, 25, 40, 64, 128, 300), (5, 300, 7_000, 100_000, 300_000)
KEPT = (1, 3, 10, 20, 50, 100)


def drawn(rng: np.random.Generator, name: str, code: str) -> tuple[str, str, dict[str, Any]]:
    """A formula, what reduces it, and its options."""
    numbers = tuple(int(n) for n in rng.choice(SIZES, 2))
    text, op, options = (SUMS[name], "Sum", {}) if name in SUMS else OTHERS[name]
    options = {key: value.format(*numbers) for key, value in options.items()}
    if "K" in op:
        options["k"] = int(rng.choice(KEPT))
    return text.format(*numbers), op, {**options, "code": code}


def plan_of(text: str, op: str, options: dict[str, Any], counts: tuple[int, int], mode: ComputeMode, facts: Facts) -> Plan:
    passes = passes_of(form_of(text, op, **options))
    rows, columns = counts
    outputs = tuple(np.dtype(options["code"]) if one.dtype.kind == "f" else one.dtype for one in passes.outputs)
    return passes.plan(Setting(Pairwise(rows, columns, 1, 300 * max(counts)), mode, facts), outputs)


@pytest.mark.parametrize("code", ["f4", "f8", "f2"])
@pytest.mark.parametrize("name", [*SUMS, *OTHERS])
def test_there_is_a_plan(name: str, code: str, rng: np.random.Generator) -> None:
    for facts in FACTS.values():
        if code == "f8" and not facts.fp64:
            continue
        for mode in MODES:
            text, op, options = drawn(rng, name, code)
            counts = tuple(int(n) for n in rng.choice(COUNTS, 2))
            plan = plan_of(text, op, options, (counts[0], counts[1]), mode, facts)
            which = (text, op, options, counts, mode, facts.vocabulary)
            assert plan.stages, which
            for stage in plan.stages:
                assert stage.spec.local_bytes <= facts.local_memory, which
                assert stage.group_size <= facts.max_group_size, which


@pytest.mark.parametrize(
    ("text", "op", "options"),
    [
        (SUMS["tensors"].format(20), "Sum", {}), (DISTANCE.format(20), "ArgKMin", {"k": 20}),
        (DISTANCE.format(40), "ArgKMin", {"k": 50}),
    ],
)  # fmt: skip
def test_pairs_that_keep_too_much_for_cells(text: str, op: str, options: dict[str, Any]) -> None:
    plan = plan_of(text, op, {**options, "code": "f4"}, (100_000, 100_000), ComputeMode.PARALLEL, FACTS["nvidia"])
    assert "by cells" not in plan.why
