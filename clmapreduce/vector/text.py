"""Formulas as text that `parse` reads back."""

from __future__ import annotations

from clmapreduce.vector.node import Constant, Variable, Vector, postorder


def text(vector: Vector, limit: int | None = None) -> str:
    """The formula string; parts longer than `limit` characters are cut to …"""
    written: dict[Vector, str] = {}
    for part in postorder([vector]):
        line = _written(part, written)
        written[part] = line if limit is None or len(line) <= limit else line[: limit - 1] + "…"
    return written[vector]


def _written(part: Vector, written: dict[Vector, str]) -> str:
    if isinstance(part, Constant):
        return f"Cst({', '.join(map(repr, part.values))})"
    if isinstance(part, Variable):
        return f"Var({part.position},{part.dim},{int(part.category)})"
    return f"{part.operation.name}({', '.join([*(written[arg] for arg in part.args), *map(_number, part.params)])})"


def _number(param: object) -> str:
    return f"Ind({', '.join(map(str, param))})" if isinstance(param, tuple) else str(param)
