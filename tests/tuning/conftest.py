"""A context without measured boxes, and a search that prefers what is new."""

from __future__ import annotations

import secrets

import pytest

import clmapreduce as cm
from clmapreduce.device import tuned
from clmapreduce.modes import ComputeMode
from clmapreduce.schemes.common.boxes import LineBoxes
from clmapreduce.schemes.segments.lanes import Lanes
from clmapreduce.schemes.segments.walk import Walk
from clmapreduce.tuning import search


@pytest.fixture
def fresh(context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> cm.Context:
    """A context of its own, a table that holds nothing, and one or two numbers of a box to vary, by a step."""
    monkeypatch.setattr(tuned, "__version__", secrets.token_hex(8))
    monkeypatch.setattr(tuned, "TABLE", tuned.BoxStore())
    block = (256, 512) if context.facts.kind == "gpu" else (32, 64)  # a default, and the double
    sequential, parallel = {"unroll": (1, 8), "groups": (64, 128)}, {"unroll": (1, 2), "block": block}
    monkeypatch.setattr(LineBoxes, "limits", {ComputeMode.SEQUENTIAL: sequential, ComputeMode.PARALLEL: parallel})
    monkeypatch.setattr(Lanes, "limits", {ComputeMode.SEQUENTIAL: {"least": (1024, 2048)}})
    walk = {ComputeMode.SEQUENTIAL: {"least": (1024, 2048)}, ComputeMode.PARALLEL: {"least": (64, 128)}}
    monkeypatch.setattr(Walk, "limits", walk)
    return cm.Context(context.device)


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever box was not tried before is called the faster one."""
    monkeypatch.setattr(search, "compared", lambda champion, challenger: (1.0, 0.5))
