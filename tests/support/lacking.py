"""What devices may lack: float64, float16, and numbers below 2^-126."""

from __future__ import annotations

from dataclasses import replace

import pyopencl as cl

import clmapreduce as cm


def without_float64(context: cm.Context) -> cm.Context:
    """A context on the same device, whose facts say that it has no float64."""
    poor = cm.Context(context.device)
    poor.device = type(context.device)(context.device.cl_device)
    poor.device.facts = replace(context.device.facts, fp64=False)
    poor.facts = replace(poor.facts, fp64=False)
    return poor


def without_float16(context: cm.Context) -> cm.Context:
    """A context on the same device, planned for as if it did not compute with float16."""
    poor = cm.Context(context.device)
    poor.facts = replace(poor.facts, fp16=False)
    return poor


def underflow(context: cm.Context) -> float:
    """How far a float32 operation may be off because its operands or its result are denormals: OpenCL lets a device
    take those for 0.
    """
    return 0.0 if context.device.cl_device.single_fp_config & cl.device_fp_config.DENORM else 2.0**-126
