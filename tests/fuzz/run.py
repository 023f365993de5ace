"""Runs one case by its family and seed."""

from __future__ import annotations

from functools import lru_cache

from fuzz.case import NEIGHBOURS, Case, Home, Shape, streams
from fuzz.families import BY_NAME


@lru_cache(maxsize=64)
def _shape(family: str, block: int, home: int) -> Shape:
    return BY_NAME[family](Case(_HOMES[home], streams(family, block * NEIGHBOURS)[0]))


_HOMES: dict[int, Home] = {}


def run(family: str, seed: int, home: Home) -> Case:
    """Makes the call and checks it. Raises what the call raises, or AssertionError where a result is wrong; the notes
    of the case are then on the error, as `notes`.
    """
    _HOMES[id(home)] = home
    case = Case(home, streams(family, seed)[1])
    try:
        _shape(family, seed // NEIGHBOURS, id(home))(case)
    except Exception as error:
        error.notes = case.notes  # type: ignore[attr-defined]
        raise
    return case
