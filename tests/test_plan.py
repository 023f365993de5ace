"""Plans are data: equal where their launches are equal, whoever made them."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest
from support.plans import INTEL, SEQUENTIAL, formula_of, reduce_plan


def test_plans_cannot_be_changed() -> None:
    plan = reduce_plan("sum", formula_of(lambda x: x, "f4"), 10**6, SEQUENTIAL, INTEL)
    with pytest.raises(FrozenInstanceError):
        plan.narrow = False  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        plan.stages[0].groups = 1  # type: ignore[misc]


def test_a_plan_says_why() -> None:
    formula = formula_of(lambda x: x, "f4")
    assert reduce_plan("sum", formula, 3, SEQUENTIAL, INTEL).why == "the line fits one group"
    assert "compute units busy" in reduce_plan("sum", formula, 10**7, SEQUENTIAL, INTEL).why
