"""Every family of calls: name → a function that draws a kind of call from a case."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.case import Case, Shape
from fuzz.families import lines, pairs, planted, segments

Family = Callable[[Case], Shape]

FAMILIES: dict[str, Family] = {**lines.FAMILIES, **segments.FAMILIES, **pairs.FAMILIES}

BY_NAME: dict[str, Family] = {**FAMILIES, **planted.PLANTED}
"""Those that are drawn, and those that have to be asked for."""
