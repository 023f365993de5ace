"""Launch boxes to measure: where a search begins, which boxes lie beside one, which are legal; and boxes as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from clmapreduce.domain.dense import Pairwise
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts
from clmapreduce.planning.pairs import choose_box
from clmapreduce.schemes.pairs.matrix.choose import (
    chained_box_of,
    long_box_of,
    nearest_box_of,
    weighted_box_of,
    wide_box_of,
)
from clmapreduce.schemes.pairs.matrix.few import factoring_of
from clmapreduce.schemes.pairs.rows import Box, PairProblem
from clmapreduce.schemes.tuning import PairBox, TileBox, WideBox
from clmapreduce.schemes.tuning_matrix import (
    MatrixBox,
    MatrixChainedBox,
    MatrixLongBox,
    MatrixNearestBox,
    MatrixWeightedBox,
    MatrixWideBox,
)

Limits = dict[str, tuple[int, int]]

_GROUPS: Limits = {"groups": (4, 256)}
_MATRIX: Limits = {"block": (64, 256), "blocks": (1, 4), "share": (0, 16), **_GROUPS}
PARALLEL: dict[type[Any], Limits] = {
    PairBox: {
        "block": (32, 256), "vectors": (1, 16), "taken": (1, 16), "unroll": (1, 16), "tile": (16, 1024), **_GROUPS,
    },
    TileBox: {
        "block": (32, 256), "rows": (1, 8), "columns": (2, 8), "depth": (4, 64), "unroll": (1, 40), "folded": (1, 8),
        **_GROUPS,
    },
    WideBox: {
        "block": (64, 256), "rows": (4, 16), "numbers": (2, 16), "stage": (4, 128), "unroll": (1, 16),
        "loads": (1, 16), **_GROUPS,
    },
    MatrixBox: {
        **_MATRIX, "tile": (16, 1024), "across": (1, 8), "unroll": (1, 16), "ahead": (1, 16), "sample": (0, 64),
    },
    MatrixWideBox: {**_MATRIX, "tile": (16, 128), "numbers": (1, 16), "chains": (1, 8), "unroll": (1, 8)},
    MatrixLongBox: _GROUPS,
    MatrixNearestBox: {**_GROUPS, "rows": (1, 4), "columns": (2, 8), "sample": (0, 64)},
    MatrixWeightedBox: {**_GROUPS, "rows": (1, 4), "columns": (2, 8), "chains": (1, 8)},
    MatrixChainedBox: {**_GROUPS, "rows": (1, 4), "columns": (2, 8), "depth": (1, 8), "chains": (1, 8)},
}  # fmt: skip
"""The numbers that are varied where groups work side by side, from least to most. The others are the static box's: what
bounds the length of a chain of sums, or is not worth a build.
"""
SEQUENTIAL: dict[type[Any], Limits] = {
    PairBox: {"vectors": (1, 8), "taken": (1, 16), "tile": (16, 1024), "unroll": (1, 8), "groups": (1, 64)},
    WideBox: {"rows": (1, 8), "taken": (1, 16), "numbers": (16, 1024), "stage": (8, 1024), "groups": (1, 64)},
}
"""The same where one item walks a tile."""
TEXT = 64
"""Rows and columns that an item takes at once, at most: beyond that builds take minutes."""
PRIVATE_BYTES = 1 << 16
"""Bytes of one private array of sums, at most."""
MATRIX_STARTS = (MatrixBox(256, 2, 256), MatrixBox(128, 2, 256), MatrixBox(128, 1, 128))
_CLASSES = {kind.__name__: kind for kind in PARALLEL}


def starts_of(layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts) -> list[Box]:
    """Where a search begins: the static box, then on devices with matrix units the one without them and others with."""
    found = [choose_box(layout, domain, mode, facts)]
    if not facts.matrix_units:
        return found
    found.append(choose_box(layout, domain, mode, replace(facts, matrix_units=False)))
    if layout.pair.expansion is None:
        found += MATRIX_STARTS if factoring_of(layout, mode) is not None else ()
    others = (
        long_box_of(layout, domain, mode, facts), wide_box_of(layout, domain, mode),
        chained_box_of(layout, domain, mode, facts), weighted_box_of(layout, domain, mode),
        nearest_box_of(layout, domain, mode, facts),
    )  # fmt: skip
    found += [box for box in others if box is not None]
    return list(dict.fromkeys(found))


def varied(box: Box, mode: ComputeMode) -> Limits:
    """The numbers of a box that are varied, with their limits."""
    return (SEQUENTIAL if mode is ComputeMode.SEQUENTIAL else PARALLEL).get(type(box), {})


def beside(box: Box, name: str, mode: ComputeMode, up: bool) -> Box | None:
    """The box with one number doubled or halved; None beyond the limits."""
    number = _step(getattr(box, name), up)
    least, most = varied(box, mode)[name]
    made: Box = replace(box, **{name: number})  # type: ignore[arg-type]  # the name of one of its numbers
    return made if least <= number <= most else None


def _step(number: int, up: bool) -> int:
    return (2 * number or 1) if up else number // 2


def is_legal(
    box: Box, starts: list[Box], layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts
) -> bool:
    """Whether a box is one that a search from `starts` may come to, and that a kernel can be made for."""
    if box in starts:
        return True
    return any(_reaches(start, box, mode) for start in starts) and _fits(box, layout, domain, mode, facts)


def _reaches(start: Box, box: Box, mode: ComputeMode) -> bool:
    if type(start) is not type(box):
        return False
    for field in fields(start):
        name, here, there = field.name, getattr(start, field.name), getattr(box, field.name)
        limits = varied(start, mode).get(name)
        if here != there and (limits is None or there not in _reach(here, *limits)):
            return False
    return True


def _reach(number: int, least: int, most: int) -> set[int]:
    """What doubling and halving make of a number, within its limits."""
    found, ahead = set(), [number]
    while ahead:
        for following in (_step(ahead[-1], True), _step(ahead.pop(), False)):
            if least <= following <= most and following not in found:
                found.add(following)
                ahead.append(following)
    return found


def _fits(box: Box, layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts) -> bool:
    """Whether the numbers suit each other and the device, as far as they tell; local memory is the plan's."""
    warps, itemsize = box.block // 32, layout.pair.dtype.itemsize
    if mode is ComputeMode.SEQUENTIAL:
        wide = box.rows * box.numbers * max(box.bytes, itemsize) if isinstance(box, WideBox) else 0
        return wide <= PRIVATE_BYTES and (not isinstance(box, PairBox) or _pairs_fit(box, layout, domain))
    if box.block % 32 or box.block > facts.max_group_size:
        return False
    if isinstance(box, PairBox):
        return _pairs_fit(box, layout, domain)
    if isinstance(box, TileBox):
        return box.rows * box.columns <= TEXT
    if isinstance(box, WideBox):
        width, most = 16 // itemsize, box.block // 8
        whole = box.rows % max(4, width) == 0 and box.numbers % width == 0
        return whole and max(box.rows, box.numbers) <= most and warps % (box.rows // 4) == 0
    if isinstance(box, MatrixLongBox):
        return warps % box.across == 0
    return warps % box.across == 0 and 8 * box.unroll <= max(box.tile, 64) and box.tile % 16 == 0


def _pairs_fit(box: PairBox, layout: PairProblem, domain: Pairwise) -> bool:
    rows = domain.rows if layout.few else box.vectors
    return box.vectors * max(box.taken, box.unroll) <= TEXT and box.vectors <= rows


def to_json(box: Box) -> bytes:
    """A box as JSON: its class, and all of its numbers."""
    numbers = {field.name: getattr(box, field.name) for field in fields(box)}
    return json.dumps({"box": type(box).__name__, "numbers": numbers}).encode()


def from_json(data: bytes) -> Box | None:
    """The box that JSON says; None for anything else: an unknown class, numbers that are missing, too many, of another
    type or none that a box may have.
    """
    try:
        found = json.loads(data)
        kind = _CLASSES[found["box"]]
        numbers = dict(_numbers(kind, found["numbers"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    made: Box = kind(**numbers)
    return made if json.loads(to_json(made)) == found else None


def _numbers(kind: type[Any], given: Any) -> Iterator[tuple[str, int]]:
    for field in fields(kind):
        number = given[field.name]
        if type(number).__name__ != field.type or not 0 <= number < 2**31:
            raise ValueError
        yield field.name, number
