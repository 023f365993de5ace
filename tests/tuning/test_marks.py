"""The launch box of runs that are reduced by marks at their ends, as on GPUs; the test says which box is faster."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.device import tuned
from clmapreduce.modes import ComputeMode
from clmapreduce.schemes.segments.boxes import TeamBox
from clmapreduce.schemes.segments.team import Teams
from clmapreduce.segmented import keys as keys_front
from clmapreduce.tuning import search


@pytest.mark.drawn
@pytest.mark.parametrize("on_device", [False, True])
def test_marks_are_found_for_the_box_of_the_plan(
    on_device: bool, context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs by marks, as on GPUs: their chunks are those of the box, in the search and later."""
    if not context.facts.sound_groups:
        pytest.skip("groups of several work-items are refused here")
    if "pocl" in context.facts.vocabulary:
        pytest.skip("PoCL 3.0 vectorises loops over items wrongly in chunks of several tiles; CPUs have no marks")
    boxes: list[TeamBox] = []
    find = keys_front.find_marks

    def noting(*args: Any, **more: Any) -> Any:
        boxes.append(more["box"])
        return find(*args, **more)

    static = TeamBox(most=1536, least=512, join_block=32)
    monkeypatch.setattr(keys_front, "marks_box", lambda options: static)
    monkeypatch.setattr(tuned, "__version__", secrets.token_hex(8))
    monkeypatch.setattr(tuned, "TABLE", tuned.BoxStore())
    fresh = cm.Context(context.device)
    monkeypatch.setattr(search, "compared", lambda champion, challenger: (1.0, 0.5))
    monkeypatch.setattr(Teams, "limits", {ComputeMode.PARALLEL: {"most": (768, 3072), "least": (256, 1024)}})
    lengths = rng.integers(1, 900, 300)
    keys, x = np.repeat(np.arange(300, dtype="i4"), lengths), rng.random(lengths.sum(), np.float32)
    sums = np.add.reduceat(x.astype("f8"), np.append(0, lengths.cumsum()[:-1]))
    arrays = [cm.array(one, fresh) if on_device else one for one in (keys, x)]
    with fresh:
        plan = cm.KeyPlan(arrays[0], mode="parallel")
        monkeypatch.setattr(keys_front, "find_marks", noting)
        results = cm.tune(lambda: cm.reduce_by_key(*arrays, mode="parallel"))
        assert [one.what.partition(" ")[0] for one in results] == ["ByKey"]
        assert results[0].box_after != static == results[0].box_before and static in boxes and results[0].box_after in boxes
        for count in ("host", "device"):
            boxes.clear()
            found, reduced, *runs = cm.reduce_by_key(*arrays, mode="parallel", count=count)
            np.testing.assert_array_equal(np.asarray(found)[:300], np.arange(300))
            np.testing.assert_allclose(np.asarray(reduced)[:300], sums, rtol=1e-5)
            assert boxes == [results[0].box_after if count == "host" else static] and all(int(one) == 300 for one in runs)
        np.testing.assert_allclose(np.asarray(plan.reduce(arrays[1], mode="parallel")[1]), sums, rtol=1e-5)
        shorter = cm.reduce_by_key(keys[:700], x[:700], mode="parallel")[1]
        expected = [x[:700][keys[:700] == key].sum(dtype="f8") for key in np.unique(keys[:700])]
        np.testing.assert_allclose(shorter, expected, rtol=1e-5)
