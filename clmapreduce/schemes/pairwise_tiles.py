"""Pairs of long vectors in the parallel mode: matrix-product-shaped tiles, coordinates staged in local memory."""

from __future__ import annotations

from clmapreduce.domain.pairwise import Pairwise
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, Plan, Stage
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.schemes.common import kernel_spec
from clmapreduce.schemes.pair_text import PairText
from clmapreduce.schemes.pairwise import (
    PairLayout,
    cut_columns,
    merge_stage,
    out_names,
    out_parameters,
    parts_scratch,
)
from clmapreduce.schemes.tile_text import Shape, TileText
from clmapreduce.tuning import TileBox, tile_box
from clmapreduce.vector.pair import Pair


def choose_tiles(pair: Pair, bound: PairBound, mode: ComputeMode, facts: Facts) -> TileBox | None:
    """The box, where the scheme suits: sums over coordinates, none inside another, work-items, and an order of merging
    that is free.
    """
    if mode is ComputeMode.SEQUENTIAL or not pair.contractions or pair.nested or not bound.commutative:
        return None
    words = sum(-(-c.result.dtype.itemsize // 4) for c in pair.contractions)
    return tile_box(words, sum(-(-c.dtype.itemsize // 4) for c in bound.components), facts)


def plan_tiles(layout: PairLayout, domain: Pairwise, mode: ComputeMode, facts: Facts, box: TileBox) -> Plan:
    """The plan of one result per row; needs at least one row and one column."""
    pair, bound = layout.pair, layout.bound
    shape = Shape(box, pair.dtype.itemsize)
    blocks = -(-domain.rows // shape.tile_rows)
    groups = facts.compute_units * box.groups
    splits, share = cut_columns(layout.backend, domain, blocks, groups, shape.tile_columns, box.tiles)
    text = PairText(pair, bound, layout.outputs, 1, domain.narrow, False)
    targets = ("scratch0",) if splits > 1 else out_names(layout.outputs)
    out = ["__global uchar *restrict parts"] if splits > 1 else out_parameters(layout.outputs)
    numbers = {
        "block": box.block, "rows_taken": box.rows, "columns_taken": box.columns, "depth": box.depth, "folded": box.folded,
        "unroll": box.unroll, "partial": splits > 1, "local_memory": facts.local_memory,
    }  # fmt: skip
    spec = kernel_spec(
        "pairwise_tiles", mode, facts, domain.narrow, False, numbers, {"pair": pair, "bound": bound},
        lambda: {"pairs": text, "tiles": TileText(text, shape, facts.local_memory), "parameters": text.parameters() + out},
    )  # fmt: skip
    names = tuple(given.name for given in pair.inputs)
    sizes = [domain.rows, domain.columns, share, blocks, splits, splits * domain.rows * domain.batch]
    arguments: Arguments = (*names, *targets, *(("idx", size) for size in sizes))
    stage = Stage(spec, blocks * splits * domain.batch, box.block, arguments, names, targets)
    cells = f"tiles of {shape.tile_rows} rows and {shape.tile_columns} columns, {box.depth} coordinates at a time"
    if splits == 1:
        why = f"rows (1D): {stage.groups} groups fill {facts.compute_units} compute units; {cells}"
        return Plan((stage,), {}, mode, Scope.DEVICE, domain.narrow, why)
    last = merge_stage(text, domain, mode, facts, box, splits)
    why = f"split (2D): {splits} shares of {share} columns; {cells}"
    return Plan((stage, last), parts_scratch(bound, domain, splits), mode, Scope.DEVICE, domain.narrow, why)
