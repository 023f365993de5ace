"""Fixtures of tests of cells."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.plan import Stage
from clmapreduce.planning import passes
from clmapreduce.schemes.pairs.cells import plan as cells


@pytest.fixture
def looks_for_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """No problem is too small to look for cells."""
    monkeypatch.setattr(passes, "pays_cells", lambda *problem: True)


@pytest.fixture
def rng(request: pytest.FixtureRequest, rng: np.random.Generator) -> np.random.Generator:
    """Where only cells compute, a test has the same points always: whether cells pay is decided by a sample, and some
    points are on the edge.
    """
    fixed = "alone" in request.fixturenames
    return np.random.default_rng(zlib.crc32(request.node.name.encode())) if fixed else rng


@pytest.fixture
def alone(context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> cm.Context:
    """A context of its own, since others keep plans, in which only cells compute results."""
    def no_stages(stages: Any, gate: Any, array: str) -> list[Stage]:
        return []

    monkeypatch.setattr(cells, "gated", no_stages)
    return cm.Context(context.device)
