"""Every case, by name."""

from __future__ import annotations

from sanitize import lines, pairs, segments

CASES = {**lines.CASES, **segments.CASES, **pairs.CASES}
