"""Devices that do not fit: none, several, or one without a dtype of the input."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.lacking import without_float64
from support.oracles import assert_same
from support.plain_primitives import DOUBLE, PRIMITIVES

import clmapreduce as cm
from clmapreduce.calls.tracing import check_device


# -------------------------------------------------------------------------------------------------------------- devices
@pytest.mark.parametrize("spec", ["no such device", "99:99", "intel:nvidia"])
def test_no_fitting_device(spec: str) -> None:
    with pytest.raises(cm.DeviceError) as error:
        cm.select_device(spec)
    for device in cm.devices():
        assert device.name in str(error.value), "what was found"
    assert "pip install" in str(error.value), "what to install"
    with pytest.raises(cm.DeviceError):
        cm.Context(spec)
    with pytest.raises(cm.DeviceError):
        cm.use(spec)


def test_an_ambiguous_device() -> None:
    if len(cm.devices()) < 2:
        pytest.skip("one device only")
    with pytest.raises(cm.DeviceError, match="several"):
        cm.select_device("")


def test_a_device_named_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLMR_DEVICE", "no such device")
    with pytest.raises(cm.DeviceError, match="CLMR_DEVICE"):
        cm.select_device()
    device = cm.devices()[-1]
    monkeypatch.setenv("CLMR_DEVICE", device.name if device.vendor == "other" else device.vendor)
    assert cm.select_device().vendor == device.vendor


def test_use_restores_the_former_default() -> None:
    before = cm.select_device()
    device = cm.devices()[-1]
    with cm.use(device) as default:
        assert default.device == device
        assert cm.array(np.ones(2, np.float32)).context.device == device
    with pytest.raises(cm.DeviceError), cm.use("no such device"):
        pass
    with cm.Context(device) as inner:
        assert cm.array(np.ones(2, np.float32)).context is inner
    assert cm.array(np.ones(2, np.float32)).context.device == before


# ------------------------------------------------------------------------------------------------- what a device lacks
@pytest.mark.parametrize("dtype", [np.float64, np.complex128], ids=lambda d: d.__name__)
def test_dtypes_that_the_device_lacks(dtype: Any, context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """A context of the same device whose facts say that it has no float64."""
    poor = cm.Context(context.device)
    device = context.device
    poor.device = type(device)(device.cl_device)
    poor.device.facts = replace(device.facts, fp64=False)
    poor.facts = replace(poor.facts, fp64=False)
    with pytest.raises(cm.DTypeError, match="float64"):
        check_device([np.dtype(dtype)], poor)
    x = np.ones(5, dtype)
    for call in (*PRIMITIVES.values(), cm.Partials("sum")):
        with pytest.raises(cm.DTypeError):
            call(x, context=poor)
    with pytest.raises(cm.DTypeError):
        cm.Unfold("product")(x[0], 5, context=poor)
    with pytest.raises(cm.DTypeError):
        cm.Map(lambda n: n / 2)(np.ones(5, np.int32), context=poor) if dtype is np.float64 else DOUBLE(x, context=poor)


def test_what_a_device_without_float64_computes(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    poor = without_float64(context)
    x = rng.standard_normal(100_003).astype(np.float32)
    magnitude = np.abs(x).sum(dtype=np.float64)
    total = x.sum(dtype=np.float64)
    call = cm.Reduce("sum")
    assert abs(call(x, context=poor, mode=mode) - total) <= 6e-8 * (abs(total) + magnitude)
    assert "double" not in call.source(x, context=poor, mode=mode)
    for primitive in (cm.Scan("sum"), cm.Reduce("logsumexp"), cm.Reduce("argmin")):
        assert "double" not in primitive.source(x, context=poor, mode=mode)
    prefixes = cm.Scan("sum")(x, context=poor, mode=mode)
    assert np.abs(prefixes - np.cumsum(x, dtype=np.float64)).max() <= 4096 * 6e-8 * magnitude / 10
    assert_same(cm.Map(lambda x: x * 2.5)(x, context=poor, mode=mode), x * np.float32(2.5))
    with pytest.raises(cm.DTypeError, match="float64"):
        call(x, context=poor, accumulate="double")
