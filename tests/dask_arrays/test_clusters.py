"""Worker processes: the bits of threads, also where one is killed in mid-run, and a device for each of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from support.child_processes import with_library

import clmapreduce as cm

distributed = pytest.importorskip("distributed")


@contextmanager
def patched(environment: dict[str, str]) -> Iterator[None]:
    """Variables of the environment, inherited by processes that are started inside."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two workers of one thread each, which find this library."""
    with (
        patched({"PYTHONPATH": with_library()["PYTHONPATH"]}),
        dask.config.set(
            {
                "distributed.comm.timeouts.connect": "5s",  # to one that was killed
                "distributed.deploy.lost-worker-timeout": "300s",  # it may come back late, and is closed after that
            }
        ),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs="CRITICAL", memory_limit=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def fatal(block: np.ndarray, marker: str, block_info: Any = None) -> np.ndarray:
    """A block; the third one ends its process, once."""
    if block_info[0]["chunk-location"][0] == 2:
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return block
        os.kill(os.getpid(), signal.SIGKILL)
    return block


def calls(rng: np.random.Generator, marker: str) -> list[Any]:
    """One of each kind."""

    def blocks(values: np.ndarray, chunk: int) -> Any:
        chunked = da.from_array(values, chunks=(chunk, *values.shape[1:]))
        return chunked.map_blocks(fatal, marker=marker, dtype=values.dtype, meta=values[:0])

    x = blocks(rng.standard_normal(20_000).astype(np.float32), 1_000)
    points = blocks(rng.standard_normal((600, 3)).astype(np.float32), 100)
    squares = ((cm.Vi(points) - cm.Vj(points)) ** 2).sum()
    keys = da.from_array(np.repeat(np.arange(50), 400), chunks=1_500)
    return [
        (cm.Map(lambda a: cm.math.exp(a)) >> cm.Reduce("sum"))(x),
        cm.Scan("sum")(x),
        (-squares).logsumexp(axis=1),
        squares.argKmin(3, axis=0),
        cm.segmented_reduce(x, [0, 500, 7_000, 7_000, 20_000], "var"),
        cm.reduce_by_key(keys, x)[1],
    ]


def test_every_worker_has_a_device(client: Any) -> None:
    """All GPUs by turns, else the best device; a worker that is started again keeps it."""
    gpus = [device for device in cm.devices() if device.kind == "gpu"]
    expected = ((gpus or cm.devices()[:1]) * 2)[:2]
    assert sorted(cm.dask.to_devices(client).values()) == sorted(device.name for device in expected)
    client.restart(timeout=180)
    wishes = client.run(lambda: os.environ["CLMR_DEVICE"]).values()
    assert sorted(cm.select_device(wish).name for wish in wishes) == sorted(device.name for device in expected)
    assert cm.Reduce("sum")(da.ones(100, chunks=10)).compute(scheduler=client) == 100


def test_workers_without_a_driver(client: Any) -> None:
    def lose_devices() -> None:
        import clmapreduce.dask.devices as module

        module.devices = lambda: []  # type: ignore[assignment]

    client.run(lose_devices)
    with pytest.raises(cm.DeviceError, match=r"tcp://.*no OpenCL device was found; install a driver"):
        cm.dask.to_devices(client)
    client.restart(timeout=180)


def test_no_client() -> None:
    with pytest.raises(cm.ArgumentError, match="client is 5"):
        cm.dask.to_devices(5)


def test_a_worker_killed_in_mid_run(client: Any, rng: np.random.Generator, tmp_path: Path) -> None:
    """Its tasks run again: nothing is lost or counted twice. The last test: the worker may come back late."""
    marker = tmp_path / "killed"
    client.wait_for_workers(2, timeout=180)
    lazy = calls(rng, str(marker))
    results = client.gather(client.compute(lazy))
    assert marker.exists()
    alone = dask.compute(*lazy, scheduler="sync")
    assert [np.asarray(a).tobytes() for a in results] == [np.asarray(a).tobytes() for a in alone]
