"""A cache entry that cannot be read is a miss: it neither hangs, nor raises, nor takes memory, and a store replaces it."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Callable

import pytest

LOAD_AND_STORE = """
from hostsched.compiler import disk_cache
assert disk_cache.load("key") is None
disk_cache.store("key", b"binary")
print(disk_cache.load("key"))
"""


def fifo(entry: pathlib.Path) -> None:
    os.mkfifo(entry, 0o600)


def directory(entry: pathlib.Path) -> None:
    (entry / "inside").mkdir(parents=True)


def link(entry: pathlib.Path) -> None:
    entry.symlink_to("/dev/zero")


def deep_json(entry: pathlib.Path) -> None:
    entry.write_bytes(b"[" * 200_000)


def deep_json_of_one_header(entry: pathlib.Path) -> None:
    entry.write_bytes(b"[" * 200 + b"]" * 200 + b"\n")


def sparse_and_huge(entry: pathlib.Path) -> None:
    with entry.open("wb") as file:
        file.write(b'{"bytes": 1}\n')
        file.truncate(2**40)


def empty(entry: pathlib.Path) -> None:
    entry.touch()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="entries of a Unix file system")
@pytest.mark.parametrize(
    "damage", [fifo, directory, link, deep_json, deep_json_of_one_header, sparse_and_huge, empty]
)
def test_an_unreadable_entry_is_a_miss_and_is_replaced(
    damage: Callable[[pathlib.Path], None], tmp_path: pathlib.Path
) -> None:
    tmp_path.chmod(0o700)
    damage(tmp_path / "key.bin")
    environment = {**os.environ, "CLMR_CACHE_DIR": str(tmp_path)}
    environment.pop("CLMR_NO_CACHE", None)
    process = subprocess.run(
        [sys.executable, "-c", LOAD_AND_STORE], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert process.returncode == 0, process.stderr
    # No file can take the place of a folder that is not empty: then each load stays a miss.
    assert process.stdout.strip() == ("None" if damage is directory else "b'binary'")
    assert not list(tmp_path.glob("*.tmp"))
