"""Composition: what `>>` between two primitives gives."""

from __future__ import annotations

from typing import Any

from clmapreduce.checks import quoted
from clmapreduce.errors import ModeError
from clmapreduce.primitives.base import Primitive
from clmapreduce.primitives.map import Map, chained
from clmapreduce.primitives.parts import Parts
from clmapreduce.primitives.pipeline import Pipeline


def composed(first: Primitive, second: Any) -> Map | Pipeline:
    """`first >> second`: two maps are a map, anything else a pipeline."""
    if not isinstance(second, Primitive):
        raise ModeError(
            f"{quoted(second)} cannot follow {first!r}: it is no primitive; wrap a function in cm.Map or cm.fuse"
        )
    if isinstance(first, Map) and isinstance(second, Map):
        return chained(first, second)
    batch = any(isinstance(part, Pipeline) and part.batch for part in (first, second))
    return Pipeline(Parts([*_parts(first), *_parts(second)]), batch)


def _parts(primitive: Primitive) -> tuple[Any, ...]:
    """The parts of a pipeline made by `>>`; any other primitive is one part."""
    chained = isinstance(primitive, Pipeline) and isinstance(primitive.function, Parts)
    return primitive.function.parts if chained else (primitive,)  # type: ignore[attr-defined]


Primitive.compose = composed
