"""What templates of pairs take: packs of terms, accumulators in memory, stages of tiles, steps of operators."""

from __future__ import annotations

import numpy as np
import pytest
from support.pair_plans import DISTANCE, layout_of

from clmapreduce.formula.node import Symbol
from clmapreduce.schemes.pairs.boxes import TileBox
from clmapreduce.schemes.pairs.parts.column_packs import packs_of
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText
from clmapreduce.schemes.pairs.tile_numbers import TileNumbers
from clmapreduce.schemes.pairs.tile_shape import Shape

LONG = "Exp(-SqDist(Vi(0,37),Vj(1,37))*Pm(2,1))*Vj(3,1)"
BOXES = [TileBox(256, 8, 8), TileBox(128, 1, 4), TileBox(64, 4, 2, depth=8), TileBox(32, 2, 2, depth=8)]


def text_of(formula: str = DISTANCE, op: str = "Sum", code: str = "f4", lanes: int = 1, **options: int) -> PairText:
    layout = layout_of(formula, op, code, **options)
    return PairText(layout.pair, layout.bound, layout.outputs, lanes, True, False)


def test_terms_of_a_dtype_lie_side_by_side() -> None:
    """As many as 16 bytes hold; three numbers take the room of four."""
    codes = ["f4", "f8", "f4", "f4", "i4", "f4", "f4", "f8", "f8"]
    packs = packs_of([Symbol(f"t{k}", np.dtype(code)) for k, code in enumerate(codes)])
    assert [(pack.type, pack.number, list(pack.terms)) for pack in packs] == [
        ("float4", "float", [0, 2, 3, 5]), ("float", "float", [6]),
        ("double2", "double", [1, 7]), ("double", "double", [8]), ("int", "int", [4]),
    ]  # fmt: skip
    assert [pack.bytes for pack in packs] == [16, 4, 16, 8, 4]
    (three,) = packs_of([Symbol(f"t{k}", np.dtype("f4")) for k in range(3)])
    assert (three.width, three.bytes, three.two) == (4, 16, "float2")
    assert packs_of([]) == []


@pytest.mark.parametrize(("op", "index"), [("Sum", "i4"), ("ArgMin", "i8"), ("LogSumExp", "i4"), ("Min_ArgMin", "i8")])
def test_every_array_of_accumulators_is_aligned(op: str, index: str) -> None:
    """Behind those of wider numbers, and as long as the layout says in all."""
    pairs = text_of(op=op, index=index)
    sizes = {c.name: c.dtype.itemsize for c in pairs.bound.components}
    before = 0
    for number in pairs.left_numbers:
        assert number.before == before and before % sizes[number.name] == 0
        before += sizes.pop(number.name)
    assert not sizes


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("code", ["f4", "f8"])
def test_stages_hold_all_coordinates(box: TileBox, code: str) -> None:
    """Each input in a place of its own, aligned to vectors; the items' runs cover what a tile has, once or more."""
    pairs = text_of(LONG, code=code)
    tiles = TileNumbers(pairs, Shape(box, np.dtype(code).itemsize), 1 << 16)
    (walk,) = tiles.walks
    vector, end = 16 // np.dtype(code).itemsize, 0
    for one in sorted(tiles.staged(walk), key=lambda one: one.place):
        assert one.place >= end and (one.shared or one.place % one.run == one.pitch % one.run == 0)
        assert one.pitch >= one.count and one.count % one.run == 0
        assert one.run * one.times * box.block >= one.count * box.depth > one.run * (one.times - 1) * box.block
        end = one.place + one.pitch * box.depth
    assert tiles.stage_size(walk) >= end and tiles.stage_size(walk) % vector == 0
    assert tiles.memory >= 2 * tiles.stage_size(walk)
    assert all(operand.padded >= 37 and operand.padded % box.depth == 0 for operand in tiles.packed_inputs)


def test_only_what_is_rare_stands_behind_a_condition() -> None:
    sums, least = text_of(), text_of(op="ArgMin")
    plain = sums.folding(sums.outer, "acc", [["a"], ["b"]], ["i", "j"])
    assert not plain.rare and "acc_" in plain.usual
    folding = least.folding(least.outer, "acc", [["a"], ["b"]], ["i", "j"])
    assert folding.rare
    step = folding.guarded(folding.columns)
    assert "a" in step.condition.text + step.condition.statements
    assert "acc_" in step.adjust + step.absorb
    wide = text_of(op="ArgMin", lanes=4)
    assert "cmr_any_int4(" in wide.folding(wide.outer, "acc", [["a"]], ["i"]).guarded([0]).condition.text


@pytest.mark.parametrize("lanes", [1, 4])
def test_coordinates_are_as_wide_as_pairs(lanes: int) -> None:
    """Rows have a number per lane; columns and parameters one for all of them."""
    pairs = text_of(LONG, lanes=lanes)
    coordinates = {one.name: one for one in pairs.coordinates(0, 2, ["j"], 2)}
    kind = "float4" if lanes > 1 else "float"
    assert {one.type for one in coordinates.values()} == {kind}
    assert coordinates["win0_1"].text == "x_in0[d * 2 + 1]"
    assert coordinates["win1_c0"].text.startswith("((float4)(" if lanes > 1 else "in1[")
    rows = [[f"r{v}_{lane}" for lane in range(lanes)] for v in range(2)]
    (array,) = pairs.long_rows(rows)
    assert (array.type, array.size, len(array.texts)) == (kind, 37, 2)
