"""The doctor's checks are right on every device; they must report known faults of drivers."""

from __future__ import annotations

import pytest

import clmapreduce as cm
from clmapreduce.doctor import driver_cases, selftest

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


def test_the_quick_checks_find_them_too(context: cm.Context) -> None:
    """They run in the mode that calls take by themselves, on CPUs the sequential one."""
    result = selftest.run(context, full=False)
    assert result.keys() == {f"{name}, auto" for name in selftest.QUICK}
    wrong = {check.replace("sequential", "auto") for check in WRONG.get(context.device.platform, ()) if "parallel" not in check}
    assert {check for check, complaint in result.items() if complaint} == wrong


def test_one_work_item_takes_all_turns_also_where_the_mode_is_left_open(context: cm.Context) -> None:
    """The quick check leaves it open, and must find llvmpipe's fault. Elsewhere several groups scan 70,001 elements."""
    operation, expected = driver_cases.cases()["70,001 turns of a loop"]
    if "70,001 turns of a loop, sequential" in WRONG.get(context.device.platform, ()):
        pytest.skip("this device's loops end early")
    with cm.profile(context) as profile:
        assert operation(mode="auto", context=context).tolist() == list(expected)
    (breakdown,) = profile.breakdowns
    assert (breakdown.launches[0].label == "cmr_scan") == (context.device.kind == "cpu")
