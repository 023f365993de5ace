"""Whether a driver's compiler can build any kernel for its device."""

from __future__ import annotations

import pyopencl as cl

from hostsched.driver import opencl

__all__ = ["unusable"]

_UNKNOWN_PROCESSOR = "-generic"
"""How the version of a CPU device ends whose compiler, LLVM, has no name for the processor."""
_SMALLEST = "__kernel void nothing(void) {}"


def unusable(device: cl.Device) -> str | None:
    """Why no kernel can be built for the device, None where one can.

    Builds one only where the device's version says that the compiler does not know the processor: PoCL 3.0 refuses
    every program there (LLVM 14 on AMD Zen 5).
    """
    if not (device.type & cl.device_type.CPU and device.version.strip().endswith(_UNKNOWN_PROCESSOR)):
        return None
    context = opencl.new_context([device])
    try:
        opencl.build_program(opencl.new_program(context, _SMALLEST), b"", [device])
    except cl.Error:
        driver = f"{device.platform.name.strip()} {device.driver_version.strip()}"
        return (
            f"{driver} is too old for this processor, {device.name.strip()}: its compiler builds no kernel. Install a "
            'newer one, or another driver: pip install "clmapreduce[intel]"'
        )
    return None
