"""Settings in the environment: what each takes, and that an error names the variable, its value and what would work."""

from __future__ import annotations

import os
import pathlib

import pytest

from hostsched import InvalidSetting, settings


@pytest.mark.parametrize(("text", "on"), [("1", True), ("Yes", True), (" on ", True), ("", False), ("0", False), ("off", False)])
def test_switches(text: str, on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLMR_NO_CACHE", text)
    assert settings.switch("CLMR_NO_CACHE") is on


def test_a_switch_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLMR_NO_CACHE", "perhaps")
    with pytest.raises(InvalidSetting, match="CLMR_NO_CACHE is 'perhaps'; use 1"):
        settings.switch("CLMR_NO_CACHE")


def test_a_folder_that_cannot_be_made(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLMR_DUMP_SOURCE", str(tmp_path / "kernels"))
    assert settings.usable_folder("CLMR_DUMP_SOURCE") == tmp_path / "kernels"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CLMR_DUMP_SOURCE", str(tmp_path / "file"))
    with pytest.raises(InvalidSetting, match=r"CLMR_DUMP_SOURCE is '.*file'; name a folder"):
        settings.usable_folder("CLMR_DUMP_SOURCE")


def test_drivers_settings_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(settings._DRIVERS)]:
        monkeypatch.delenv(name)
    assert settings.driver_settings() == ""
    monkeypatch.setenv("CL_CONFIG_CPU_TARGET_ARCH", "zz")
    assert "CL_CONFIG_CPU_TARGET_ARCH='zz'" in settings.driver_settings()
