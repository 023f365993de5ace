"""Kernels with a known fault: bodies of a kernel of eight items on eight ints, and whether the log must show it."""

from __future__ import annotations

import numpy as np

import clmapreduce as cm
from hostsched import JobGraph, KernelJob, build

PLANTED = {
    "a missing barrier": "__local int t[8]; t[i] = x[i]; x[i] = t[7 - i];",
    "an unordered sum": "x[0] += (int)i;",
    "one past the end": "x[i + 1] = (int)i;",
    "a local that nobody wrote": "__local int t[8]; if (i) t[i] = 1; barrier(CLK_LOCAL_MEM_FENCE); x[i] = t[0] ? 1 : 2;",
    "a private number that nobody wrote": "int t[2]; t[i & 1] = 1; x[i] = t[1];",
    "a barrier for some": "if (i < 4) barrier(CLK_LOCAL_MEM_FENCE); x[i] = 1;",
    "no fault": "__local int t[8]; t[i] = x[i]; barrier(CLK_LOCAL_MEM_FENCE); x[i] = t[7 - i];",
}

FALSE_ALARM = "the upper half of sixteen numbers"
WITHOUT_FAULT = {FALSE_ALARM: "char16 all = (char16)(1); char8 upper = all.hi; x[i] = upper.s3;"}
"""Bodies that are right."""


def run_planted(name: str, context: cm.Context) -> None:
    """Runs one of them."""
    text = f"__kernel void cmr_planted(__global int *x) {{ const size_t i = get_local_id(0); {(PLANTED | WITHOUT_FAULT)[name]} }}"
    kernel = build(context.queue, text).kernel("cmr_planted")
    x = cm.array(np.arange(8, dtype="i4"), context)
    JobGraph([KernelJob(kernel, 1, 8, (x.buffer,), (x.buffer,), (x.buffer,))]).submit(context.queue).wait()
