"""What tests of structures share: the lengths of lines, the dtype of floating fields, and what rounding may do."""

from __future__ import annotations

import clmapreduce as cm

LENGTHS = (1, 33, 1000, 70_001)
ROUNDINGS = 8
"""Roundings of one combination that its result may be off by, per element of the line."""


def wider(code: str, context: cm.Context) -> str:
    return {"f4": "f8", "c8": "c16"}.get(code, code) if context.device.fp64 else code
