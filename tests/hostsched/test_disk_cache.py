"""The disk cache loads the binaries that it stored, and none that were changed."""

from __future__ import annotations

import json
import os
import pathlib
import pickle
from collections.abc import Callable

import numpy as np
import pyopencl as cl
import pytest

from hostsched import Device, JobGraph, KernelJob, Queue, ReadJob, build, cache_folder, devices
from hostsched.compiler import disk_cache


@pytest.fixture(autouse=True)
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    path = tmp_path / "cache"
    monkeypatch.setenv("CLMR_CACHE_DIR", str(path))
    monkeypatch.delenv("CLMR_NO_CACHE", raising=False)
    return path


WITH_BINARIES = [device for device in devices() if device.facts.vendor != "pocl"]
POCL = [device for device in devices() if device.facts.vendor == "pocl"]


@pytest.fixture(params=WITH_BINARIES, ids=[device.vendor for device in WITH_BINARIES])
def device(request: pytest.FixtureRequest) -> Device:
    """A device whose binaries we store: all but PoCL, which has a cache of its own."""
    chosen_device: Device = request.param
    return chosen_device


@pytest.mark.parametrize("pocl", POCL, ids=[device.version for device in POCL])
def test_no_binaries_are_read_from_pocl(pocl: Device, folder: pathlib.Path) -> None:
    assert run(pocl, source(3)) == 3
    assert not folder.exists()


def source(value: int) -> str:
    return f"__kernel void cmr_value(__global int* a) {{ a[0] = {value}; }}\n"


def run(device: Device, text: str) -> int:
    """What the kernel writes, built in a new context, which remembers nothing."""
    queue = Queue(device, context=cl.Context([device.cl_device]))
    out, a = np.zeros(1, np.int32), queue.arena.take(4)
    kernel = build(queue, text).kernel("cmr_value")
    JobGraph([KernelJob(kernel, 1, 1, (a,), (), (a,)), ReadJob(a, out)]).submit(queue).wait()
    return int(out[0])


def only_file(folder: pathlib.Path) -> pathlib.Path:
    (path,) = folder.iterdir()
    return path


def test_the_folder_and_files_are_private_and_hold_no_pickle(device: Device, folder: pathlib.Path) -> None:
    assert run(device, source(1)) == 1
    assert folder.stat().st_mode & 0o777 == 0o700
    path = only_file(folder)
    assert path.stat().st_mode & 0o777 == 0o600
    header, _, binary = path.read_bytes().partition(b"\n")
    assert json.loads(header)["bytes"] == len(binary)


def test_a_stored_binary_is_used(device: Device, folder: pathlib.Path) -> None:
    """Another program's binary, with a valid signature, stands under the first one's key: its result shows which one ran."""
    run(device, source(1))
    path = only_file(folder)
    key = path.stem
    path.unlink()
    run(device, source(2))
    other = only_file(folder)
    binary = other.read_bytes().partition(b"\n")[2]
    other.unlink()
    disk_cache.store(key, binary)
    assert run(device, source(1)) == 2


def damage(name: str, path: pathlib.Path, other: pathlib.Path) -> None:
    """Tampers with the file at `path` in one of several ways."""
    whole = path.read_bytes()
    header, _, binary = whole.partition(b"\n")
    if name == "truncated":
        path.write_bytes(whole[: len(whole) // 2])
    elif name == "empty":
        path.write_bytes(b"")
    elif name == "one bit":
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    elif name == "another program":
        path.write_bytes(other.read_bytes())
    elif name == "another program's binary":
        path.write_bytes(header + b"\n" + other.read_bytes().partition(b"\n")[2])
    elif name == "not JSON":
        path.write_bytes(b"\xff\xfe{" + whole)
    elif name == "JSON of another shape":
        path.write_bytes(b"[1, 2]\n" + binary)
    elif name == "older format":
        fields = json.loads(header)
        path.write_bytes(json.dumps(fields | {"format": 0}).encode() + b"\n" + binary)
    elif name == "writable for others":
        path.write_bytes(other.read_bytes().partition(b"\n")[2])
        path.chmod(0o666)
    elif name == "a link":
        path.unlink()
        path.symlink_to(other)
    elif name == "a folder":
        path.unlink()
        path.mkdir()


@pytest.mark.parametrize(
    "name",
    [
        "truncated",
        "empty",
        "one bit",
        "another program",
        "another program's binary",
        "not JSON",
        "JSON of another shape",
        "older format",
        "writable for others",
        "a link",
        "a folder",
    ],
)
def test_whatever_is_odd_is_rebuilt(device: Device, folder: pathlib.Path, name: str) -> None:
    run(device, source(1))
    path = only_file(folder)
    run(device, source(2))
    (other,) = set(folder.iterdir()) - {path}
    damage(name, path, other)
    assert run(device, source(1)) == 1


def test_a_sound_file_that_the_driver_refuses_is_rebuilt(device: Device, folder: pathlib.Path) -> None:
    if device.platform == "rusticl":
        pytest.skip("rusticl 22.3.6 ends the process where a binary is none of its own")
    run(device, source(1))
    path = only_file(folder)
    disk_cache.store(path.stem, b"not a program")
    assert run(device, source(1)) == 1


def test_a_planted_pickle_is_not_run(
    device: Device, folder: pathlib.Path, tmp_path: pathlib.Path, child: Callable[..., str],
    same_drivers: dict[str, str],
) -> None:  # fmt: skip
    class Planted:
        def __reduce__(self) -> tuple[object, ...]:
            return pathlib.Path.touch, (tmp_path / "ran",)

    run(device, source(1))
    only_file(folder).write_bytes(pickle.dumps(Planted()))
    code = f"""
import numpy as np
from hostsched import JobGraph, KernelJob, Queue, ReadJob, build, devices
queue = Queue(devices()[{devices().index(device)}])
out, a = np.zeros(1, np.int32), queue.arena.take(4)
kernel = build(queue, {source(1)!r}).kernel("cmr_value")
JobGraph([KernelJob(kernel, 1, 1, (a,), (), (a,)), ReadJob(a, out)]).submit(queue).wait()
print(out[0])
"""
    assert child(code, CLMR_CACHE_DIR=str(folder), **same_drivers) == "1"
    assert not (tmp_path / "ran").exists()
    assert disk_cache.load(only_file(folder).stem) is not None  # the child stored a sound one


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_may_write_to_is_refused(device: Device, folder: pathlib.Path, mode: int) -> None:
    folder.mkdir()
    folder.chmod(mode)
    assert cache_folder() is None
    assert run(device, source(1)) == 1
    assert not list(folder.iterdir())


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows has no owners of this kind")
def test_a_folder_of_someone_else_is_refused(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    assert cache_folder() is None


def test_a_folder_that_cannot_be_made_or_written_costs_nothing(
    device: Device, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CLMR_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert cache_folder() is None
    assert run(device, source(1)) == 1


@pytest.mark.parametrize("value", ["1", "true", "YES"])
def test_the_cache_can_be_turned_off(
    device: Device, folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("CLMR_NO_CACHE", value)
    assert run(device, source(1)) == 1
    assert not folder.exists()


def test_no_cache_of_zero_leaves_it_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLMR_NO_CACHE", "0")
    assert cache_folder() is not None


def test_sources_that_include_files_are_not_kept(device: Device, folder: pathlib.Path) -> None:
    assert run(device, source(1) + "/* #include */\n") == 1
    assert not folder.exists() or not list(folder.iterdir())


def test_keys_depend_on_every_part_and_on_where_it_ends() -> None:
    keys = {disk_cache.cache_key(*parts) for parts in (("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("c", "ab"))}
    assert len(keys) == 5
