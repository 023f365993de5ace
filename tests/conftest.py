"""Every device found here, both modes, and fresh random numbers whose seed a failure shows."""

from __future__ import annotations

import os
import secrets
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".pytest_cache"
os.environ.setdefault("CLMR_CACHE_DIR", str(CACHE / "kernels"))  # local runs find their kernels again
# PoCL keeps kernels itself, in a folder that processes should not share
os.environ.setdefault("POCL_CACHE_DIR", str(CACHE / f"pocl-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"))
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else JAX takes most of a GPU's memory
sys.path.insert(0, str(Path(__file__).parent))  # for `support`, beside this file

os.environ.setdefault("CLMR_DRAW_SEED", str(secrets.randbits(32)))  # workers draw the same combinations

from support.drawing import mark_the_rest, mark_what_is_not_drawn  # noqa: E402

import clmapreduce as cm  # noqa: E402  # the cache's folder must be named before

DEVICES = cm.devices()
USUAL_LOCAL_MEMORY = 48 << 10


def _ids() -> list[str]:
    """The driver's maker, with a number where several devices share it."""
    counts: Counter[str] = Counter()
    names = []
    for device in DEVICES:
        counts[device.vendor] += 1
        names.append(device.vendor + (str(counts[device.vendor]) if counts[device.vendor] > 1 else ""))
    return names


@pytest.fixture(scope="session", params=DEVICES, ids=_ids())
def context(request: pytest.FixtureRequest) -> Iterator[cm.Context]:
    """A context on one device; each test that asks for it runs on every device."""
    new = cm.Context(request.param)
    yield new
    new.wait()


@pytest.fixture(scope="session", params=["sequential", "parallel"])
def mode(request: pytest.FixtureRequest) -> str:
    """Each test that asks for it runs in both modes."""
    return str(request.param)


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers, new ones in every run. pytest shows the line printed here when the test fails."""
    seed = int(os.environ.get("CLMR_TEST_SEED") or secrets.randbits(32))
    print(f"CLMR_TEST_SEED={seed} repeats these random numbers")
    return np.random.default_rng(seed)


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Names without addresses, so that parallel workers agree on which tests there are."""
    return f"{argname}-{type(val).__name__}" if " at 0x" in repr(val) else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Skips what the library refuses on a device: float64 where there is none, groups of several work-items where the
    driver computes those wrongly, and launch boxes of the tests' own where local memory is small.
    """
    arguments = getattr(item, "funcargs", {})
    context = arguments.get("context")
    if context is not None and arguments.get("mode") == "parallel" and not context.device.sound_groups:
        pytest.skip(f"{context.device.name} computes groups of several work-items wrongly")
    try:
        return (yield)
    except (cm.DTypeError, cm.DeviceError, cm.DeviceMemoryError) as error:
        if context is None:
            raise
        lacks_float64 = not context.facts.fp64 and "has no float64, which" in str(error)
        lacks_groups = not context.facts.sound_groups and "groups of several work-items wrongly" in str(error)
        lacks_memory = context.facts.local_memory < USUAL_LOCAL_MEMORY and "bytes of local memory" in str(error)
        if not (lacks_float64 or lacks_groups or lacks_memory):
            raise
        pytest.skip(str(error))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks the cases that this run leaves out, before pytest reads the marks."""
    mark_what_is_not_drawn(items, config, os.environ["CLMR_DRAW_SEED"])
    mark_the_rest(items, config, os.environ["CLMR_DRAW_SEED"])


def pytest_report_header() -> str:
    return f"CLMR_DRAW_SEED={os.environ['CLMR_DRAW_SEED']} repeats the combinations drawn"
