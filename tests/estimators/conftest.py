"""Estimators compute on each device in turn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import clmapreduce as cm


@pytest.fixture
def home(context: cm.Context) -> Iterator[cm.Context]:
    """The context of estimators with device=None."""
    if not context.device.fp64:
        pytest.skip("estimators are compared in float64")
    with context:
        yield context
