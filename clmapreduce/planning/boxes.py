"""Launch boxes to measure: where a search begins, which boxes lie beside one, which are legal; and boxes as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from clmapreduce.domain.dense import Pairwise
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts
from clmapreduce.schemes.common.boxes import Limits, LineBoxes
from clmapreduce.schemes.pairs import registry
from clmapreduce.schemes.pairs.boxes import Box
from clmapreduce.schemes.pairs.problem import PairProblem
from clmapreduce.schemes.segments.registry import SCHEMES as SEGMENT_SCHEMES

OTHERS: tuple[Any, ...] = (*SEGMENT_SCHEMES, LineBoxes)
"""What has launch boxes beside the schemes for pairs."""
BOX_TYPES = {**registry.BOX_TYPES, **{kind.box_type.__name__: kind.box_type for kind in OTHERS}}


def starts_of(layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts) -> list[Box]:
    """Where a search begins: the static box, then on devices with matrix units the one without them and others with."""
    _, static = registry.choose(layout, domain, mode, facts)
    if not facts.matrix_units:
        return [static]
    _, without = registry.choose(layout, domain, mode, replace(facts, matrix_units=False))
    more = (box for kind in registry.SCHEMES for box in kind(layout, domain, mode, facts).starts())
    return list(dict.fromkeys([static, without, *more]))


def varied(box: Any, mode: ComputeMode) -> Limits:
    """The numbers of a box that are varied, with their limits: what its scheme says."""
    limits: Mapping[ComputeMode, Limits] = next(
        kind.limits for kind in (*registry.SCHEMES, *OTHERS) if kind.box_type is type(box)
    )
    return limits.get(mode, {})


def beside(box: Any, name: str, mode: ComputeMode, up: bool) -> Any:
    """The box with one number doubled or halved; None beyond the limits."""
    number = _step(getattr(box, name), up)
    least, most = varied(box, mode)[name]
    result = replace(box, **{name: number})
    return result if least <= number <= most else None


def _step(number: int, up: bool) -> int:
    return (2 * number or 1) if up else number // 2


def is_legal(
    box: Box, starts: list[Box], layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts
) -> bool:
    """Whether a box is one that a search from `starts` may come to, and that a kernel can be made for."""
    if box in starts:
        return True
    return is_reached(box, starts, mode) and registry.choose(layout, domain, mode, facts, box)[0].fits(box)


def is_reached(box: Any, starts: Sequence[Any], mode: ComputeMode) -> bool:
    """Whether a search from `starts` may come to a box."""
    return any(_reaches(start, box, mode) for start in starts)


def _reaches(start: Any, box: Any, mode: ComputeMode) -> bool:
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
    numbers, ahead = set(), [number]
    while ahead:
        for following in (_step(ahead[-1], True), _step(ahead.pop(), False)):
            if least <= following <= most and following not in numbers:
                numbers.add(following)
                ahead.append(following)
    return numbers


def to_json(box: Any) -> bytes:
    """A box as JSON: its class, and all of its numbers."""
    numbers = {field.name: getattr(box, field.name) for field in fields(box)}
    return json.dumps({"box": type(box).__name__, "numbers": numbers}).encode()


def from_json(data: bytes) -> Any:
    """The box that JSON says; None for anything else: an unknown class, numbers that are missing, too many, of another
    type or none that a box may have.
    """
    try:
        entry = json.loads(data)
        kind = BOX_TYPES[entry["box"]]
        numbers = dict(_numbers(kind, entry["numbers"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    box = kind(**numbers)
    return box if json.loads(to_json(box)) == entry else None


def _numbers(kind: type[Any], entry: Any) -> Iterator[tuple[str, Any]]:
    for field in fields(kind):
        number = entry[field.name]
        several = field.type == "tuple[int, ...]"
        each = number if several else (number,)
        word = "int" if several else field.type
        if type(each) not in (list, tuple) or not all(type(n).__name__ == word and 0 <= n < 2**31 for n in each):
            raise ValueError
        yield field.name, tuple(each) if several else number
