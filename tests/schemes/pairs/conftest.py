"""Fixtures of tests of cells."""

from __future__ import annotations

from typing import Any

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
def alone(context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> cm.Context:
    """A context of its own, since others keep plans, in which only cells compute results."""
    def no_stages(stages: Any, gate: Any, array: str) -> list[Stage]:
        return []

    monkeypatch.setattr(cells, "gated", no_stages)
    return cm.Context(context.device)
