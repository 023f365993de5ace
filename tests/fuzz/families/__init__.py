"""Every family of calls: name → a function that draws a kind of call from a case."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.case import Case, Shape
from fuzz.families import clusters, lines, operators, pairs, pipelines, planted, segments, series

Family = Callable[[Case], Shape]

FAMILIES: dict[str, Family] = {
    **lines.FAMILIES, **segments.FAMILIES, **pairs.FAMILIES, **pipelines.FAMILIES,
    **operators.FAMILIES, **series.FAMILIES, **clusters.FAMILIES,
}  # fmt: skip

BY_NAME: dict[str, Family] = {**FAMILIES, **planted.PLANTED}
"""The families that a run draws, and those that it runs only by name."""
