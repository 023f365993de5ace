"""Kernels that need correctly rounded quotients and roots are built so where a driver must be asked for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
import hostsched
from hostsched.device import traits

OPTION = "-DCMR_DIVIDES_CORRECTLY"


@pytest.fixture
def options(context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The build options of all kernels that are built from now on, on a driver that must be asked."""
    vendor, seen = context.device.vendor, []
    asked = replace(traits.traits_of(vendor), correct_division=(OPTION,))
    monkeypatch.setitem(traits._TRAITS, vendor, asked)
    build = hostsched.build

    def noted(queue: Any, source: str, options: Any, **more: Any) -> Any:
        seen.extend(options)
        return build(queue, source, options, **more)

    monkeypatch.setattr(hostsched, "build", noted)
    return seen


def test_numbers_of_several_floats_and_quotients_of_floats(
    context: cm.Context, options: list[str], rng: np.random.Generator
) -> None:
    addend = rng.random()  # a kernel that is not built yet
    x = rng.uniform(1, 9, 100).astype("f4")
    np.testing.assert_array_equal(cm.Map(lambda x: (x + addend) // x)(x, context=context), (x + np.float32(addend)) // x)
    assert OPTION in options
    options.clear()
    cm.Map(lambda x: cm.math.sqrt(x) + addend)(x.astype(cm.df), context=context)
    assert OPTION in options


def test_other_kernels_divide_as_the_driver_likes(
    context: cm.Context, options: list[str], rng: np.random.Generator
) -> None:
    x, addend = rng.uniform(1, 9, 100).astype("f4"), rng.random()
    np.testing.assert_allclose(cm.Map(lambda x: 1 / x + addend)(x, context=context), 1 / x + addend, rtol=1e-6)
    assert options and OPTION not in options
