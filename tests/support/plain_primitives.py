"""The simplest primitives, for tests of inputs and outputs."""

from __future__ import annotations

import clmapreduce as cm

DOUBLE = cm.Map(lambda x: x + x)
ADD = cm.Map(lambda x, y: x + y)
TOTAL = cm.Reduce("sum")
PREFIX = cm.Scan("sum")
DOT = cm.Map(lambda x, y: x * y) >> cm.Reduce("sum")
PRIMITIVES = {"map": DOUBLE, "reduce": TOTAL, "scan": PREFIX, "fused": cm.Map(lambda x: -x) >> cm.Reduce("sum")}
