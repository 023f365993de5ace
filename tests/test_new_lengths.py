"""A call on arrays of another length finds its kernels: no text is rendered again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.device import runtime

LENGTHS = (30_000, 30_001, 30_010, 30_533)
ONES = np.ones(LENGTHS[-1], np.float32)
KEYS = (np.arange(LENGTHS[-1]) // 7).astype(np.int32)
DOUBLE = cm.Map(lambda x: x * 2)
PIPELINE = DOUBLE >> cm.Scan("sum")
SHARE = cm.fuse(lambda x: x / cm.Reduce("sum")(x))


def offsets(n: int) -> Any:
    return np.append(np.arange(0, n, 10), n).astype(np.int32)


def matrix(n: int) -> Any:
    return offsets(n), (np.arange(n) % 100).astype(np.int32), ONES[:n]


def pairs(n: int, **options: Any) -> Any:
    points = ONES[: n // 10 * 3].reshape(-1, 3)
    return cm.Genred("Exp(-SqDist(x, y))", ["x = Vi(3)", "y = Vj(3)"])(points, points, **options)


FAMILIES: dict[str, Callable[..., Any]] = {
    "segmented_reduce": lambda n, **o: cm.segmented_reduce(ONES[:n], offsets(n), **o),
    "segmented_var": lambda n, **o: cm.segmented_reduce(ONES[:n], offsets(n), "var", **o),
    "reduce_by_key": lambda n, **o: cm.reduce_by_key(KEYS[:n], ONES[:n], **o),
    "run_lengths": lambda n, **o: cm.run_lengths(KEYS[:n], **o),
    "spmv": lambda n, **o: cm.spmv(matrix(n), ONES[:100], **o),
    "Reduce": lambda n, **o: cm.Reduce("sum")(ONES[:n], **o),
    "Scan": lambda n, **o: cm.Scan("sum")(ONES[:n], **o),
    "Map": lambda n, **o: DOUBLE(ONES[:n], **o),
    "pipeline": lambda n, **o: PIPELINE(ONES[:n], **o),
    "fused": lambda n, **o: SHARE(ONES[:n], **o),
    "pairs": pairs,
}


@pytest.mark.drawn
@pytest.mark.parametrize("family", FAMILIES)
def test_another_length_renders_nothing(
    context: cm.Context, mode: str, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels: list[str] = []
    render = runtime.source_of

    def note_and_render(spec: Any) -> str:
        kernels.append(spec.kernel)
        return render(spec)

    monkeypatch.setattr(runtime, "source_of", note_and_render)
    own = cm.Context(context.device)
    first, *others = LENGTHS
    FAMILIES[family](first, mode=mode, context=own)
    assert kernels
    kernels.clear()
    for n in others:
        FAMILIES[family](n, mode=mode, context=own)
    assert not kernels
