"""What the host can still give, and the limit a user sets."""

from __future__ import annotations

import pathlib

import psutil
import pytest

from hostsched.memory import headroom


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [
        ("", None),
        ("1000", 1000),
        ("4G", 4 << 30),
        ("4g", 4 << 30),
        ("1.5 GiB", 3 << 29),
        ("512MB", 512 << 20),
        ("2k", 2048),
    ],
)
def test_memory_limit(text: str, bytes_: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLMR_MEMORY_LIMIT", text)
    assert headroom.memory_limit() == bytes_


@pytest.mark.parametrize("text", ["much", "-1", "4 X", "1e9", "G"])
def test_an_unreadable_limit_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLMR_MEMORY_LIMIT", text)
    with pytest.raises(ValueError, match=r"CLMR_MEMORY_LIMIT is .*such as 4G"):
        headroom.memory_limit()


def test_headroom_is_no_more_than_what_the_machine_has() -> None:
    assert 0 < headroom.host_headroom() <= psutil.virtual_memory().total


def test_a_containers_limit_counts(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit, usage = tmp_path / "memory.max", tmp_path / "memory.current"
    usage.write_text("40000\n")
    monkeypatch.setattr(headroom, "_CGROUP_FILES", ((str(limit), str(usage)),))
    limit.write_text("max\n")
    assert headroom.host_headroom() > 100_000
    limit.write_text("100000\n")
    assert headroom.host_headroom() == 60_000
    usage.write_text("200000\n")
    assert headroom.host_headroom() == 0
