"""What the pages show: pipelines, and functions that return what `explain()` says of them."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

import clmapreduce as cm

GEOMETRY = runpy.run_path(str(Path(__file__).resolve().parents[1] / "examples" / "geometry" / "vectors.py"))
LONG = 3_000_000

softmax = cm.Reduce("logsumexp") >> cm.Map(lambda total, x: cm.math.exp(x - total))


@cm.fuse
def share(x):
    """Each running total as a share of the largest one."""
    running = cm.Scan("sum")(x)
    return running / cm.Reduce("maximum")(running)


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def scopes(mode: str, *shapes: tuple[int, ...]) -> str:
    """The projection of the example at some lengths and for a batch."""
    projection, lines = GEOMETRY["proj_a_on_b"], []
    for shape in ((3,), (3000,), *shapes):
        b, rows = ones(*shape), len(shape) > 1
        lines.append(f"# {f'batch of {shape[0]:,} rows, ' if rows else ''}length {shape[-1]:,}")
        lines.append(projection.explain(b, b, mode=mode, batch=rows))
    return "\n".join(lines)


def scopes_sequential() -> str:
    return scopes("sequential", (LONG,), (1_000_000, 3))


def scopes_parallel() -> str:
    return scopes("parallel", (1000, 3000))


def softmax_long() -> str:
    return str(softmax.explain(ones(LONG), mode="sequential"))


def share_long() -> str:
    return str(share.explain(ones(LONG), mode="sequential"))


def share_short() -> str:
    return str(share.explain(ones(3000), mode="sequential"))


def unfold_long() -> str:
    total = cm.Unfold("product") >> cm.Map("p / (1 + p)") >> cm.Reduce("sum")
    return str(total.explain(np.float32(0.5), LONG, mode="sequential"))


def compile_short() -> str:
    return str(GEOMETRY["proj_a_on_b"].compile([(3,), (3,)], "f4", mode="sequential").explain())


def stream_long() -> str:
    device = cm.array(ones(1)).context.device
    small = cm.Context(device, memory_limit="8M")
    return str(softmax.explain(ones(LONG), context=small, mode="sequential"))
