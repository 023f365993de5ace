"""Where an estimator computes, and with which numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from clmapreduce.checks import quoted
from clmapreduce.device.context import Context, Device, context_of, select_device, shared_context, spelled_device
from clmapreduce.errors import DeviceError

FLOATS = (np.float64, np.float32)
"""Samples of these dtypes are taken as they are, all others become float64."""


def context_for(device: Any) -> Context:
    """The context of an estimator's device: None for that of the thread, else a text that `select_device` knows.

    Estimators hold the text, not the device, so that they can be cloned and pickled. Raises DeviceError.
    """
    if device is None:
        return context_of(None)
    if not isinstance(device, str):
        example = spelled_device(device) if isinstance(device, Device) else "gpu"
        raise DeviceError(f"device is {quoted(device)}; estimators are cloned: give a text, such as {example!r}")
    return shared_context(select_device(device))
