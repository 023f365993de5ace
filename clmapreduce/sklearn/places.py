"""Where an estimator computes, and with which numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from clmapreduce.device.context import Context, context_of, select_device, shared_context

FLOATS = (np.float64, np.float32)
"""Samples of these dtypes are taken as they are, all others become float64."""


def context_for(device: Any) -> Context:
    """The context of an estimator's device: None for that of the thread, else what `cm.Context` takes for one device.

    Estimators hold the word, not the context, so that they can be cloned and pickled. Raises DeviceError.
    """
    return context_of(None) if device is None else shared_context(select_device(device))
