"""The plainest primitives, for tests of what goes in and what comes out."""

from __future__ import annotations

import clmapreduce as cm

DOUBLE = cm.Map(lambda x: x + x)
ADD = cm.Map(lambda x, y: x + y)
TOTAL = cm.Reduce("sum")
PREFIX = cm.Scan("sum")
