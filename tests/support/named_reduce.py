"""Reduce by the name of its operator: one call, and the operators with the dtypes that tests draw."""

from __future__ import annotations

from typing import Any

import clmapreduce as cm

# Each operator with a floating and an integer dtype, each dtype somewhere; tests/test_sweep.py has the whole product.
COMBINATIONS = [
    ("sum", "f4"), ("sum", "f8"), ("sum", "i1"), ("sum", "?"), ("sum", "c8"), ("sum", "u8"), ("product", "f4"), ("product", "i4"),
    ("product", "c16"), ("minimum", "f4"), ("minimum", "i8"), ("maximum", "f8"), ("maximum", "u1"), ("any", "f4"), ("any", "i4"),
    ("all", "?"), ("all", "c8"), ("argmin", "f4"), ("argmin", "i4"), ("argmax", "f8"), ("argmax", "u2"), ("logsumexp", "f4"), ("logsumexp", "f8"),
    ("mean", "f4"), ("mean", "i8"), ("mean", "c8"), ("var", "f4"), ("var", "u1"), ("std", "f8"), ("norm", "f4"), ("norm", "i4"), ("norm", "c16"),
]  # fmt: skip
FLOATS = ["f4", "f8"]


def reduce_by_name(name: str, x: Any, context: cm.Context, mode: str, **options: Any) -> Any:
    return cm.Reduce(name)(x, context=context, mode=mode, **options)
