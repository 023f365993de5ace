"""C text of vector types, for templates."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["converted", "each_of", "picked", "picks_alternate", "picks_in_turn", "picks_up", "split", "typed"]

_LANES = "0123456789abcdef"


def split(kind: str) -> tuple[str, int]:
    """The scalar type and the number of lanes: "float16" -> ("float", 16)."""
    scalar = kind.rstrip("0123456789")
    return scalar, int(kind[len(scalar) :] or 1)


def typed(scalar: str, lanes: int) -> str:
    """The opposite: "float", 16 -> "float16"."""
    return f"{scalar}{lanes}" if lanes > 1 else scalar


def converted(text: str, scalar: str, lanes: int) -> str:
    """A number, or a vector of them, in another type; the prelude's macro is for vectors."""
    return f"CMR_CONVERT({text}, {scalar}{lanes})" if lanes > 1 else f"({scalar})({text})"


def each_of(kind: str) -> str:
    """The elements of `p` at the places `at`, one by one."""
    return f"({kind})({', '.join(f'p[at.s{lane}]' for lane in _LANES[: split(kind)[1]])})"


def picks_up(kind: str, distance: int) -> list[int]:
    """Which lanes of two vectors move up by a distance; the second vector fills the lowest."""
    lanes = split(kind)[1]
    return [lane - distance if lane >= distance else lanes for lane in range(lanes)]


def picks_alternate(kind: str, start: int) -> list[int]:
    """Every other lane of two vectors, from one on."""
    return list(range(start, 2 * split(kind)[1], 2))


def picks_in_turn(kind: str, start: int) -> list[int]:
    """Lanes of two vectors in turn, from one on."""
    lanes = split(kind)[1]
    return [lane for each in range(start, start + lanes // 2) for lane in (each, lanes + each)]


def picked(kind: str, first: str, second: str, picks: Sequence[int]) -> str:
    """A vector of some lanes of two vectors."""
    lanes = split(kind)[1]
    each = (f"{first}.s{_LANES[p]}" if p < lanes else f"{second}.s{_LANES[p - lanes]}" for p in picks)
    return f"({kind})({', '.join(each)})"
