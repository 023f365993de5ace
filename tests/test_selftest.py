"""The doctor's checks are right on every device; they must report known faults of drivers."""

from __future__ import annotations

import clmapreduce as cm
from clmapreduce.doctor import selftest

WRONG = {
    "rusticl": {
        "70,001 turns of a loop, sequential", "comparisons counted, sequential", "comparisons counted, parallel",
    },
}  # fmt: skip
"""Platform → the checks that fail there."""


def test_the_checks_find_wrong_results(context: cm.Context) -> None:
    result = selftest.run(context)
    assert len(result) >= 15 * len(context.device.modes)
    assert {check for check, complaint in result.items() if complaint} == WRONG.get(context.device.platform, set())
