"""Fused functions of vectors that several tests call."""

from __future__ import annotations

from typing import Any

import clmapreduce as cm


@cm.fuse
def project(a: Any, b: Any) -> Any:
    """The part of a along b."""
    return cm.Reduce("sum")(a * b) / cm.Reduce("sum")(b * b) * b


@cm.fuse
def softmax(x: Any) -> Any:
    e = cm.math.exp(x - cm.Reduce("maximum")(x))
    return e / cm.Reduce("sum")(e)
