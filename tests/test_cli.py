"""The command line, on the devices of this machine and on what they might report."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce import cli, demo
from clmapreduce.doctor import apart, diagnosis, report, selftest

ROOT = Path(__file__).resolve().parents[1]

INTEL_WITHOUT_LIBRARY = {
    "kind": "driver",
    "name": "intel-opencl-rt",
    "origin": "pip",
    "path": "libintelocl.so",
    "loadable": False,
    "problem": "libimf.so: cannot open shared object file",
}


def test_devices_lists_every_device_and_stars_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["devices"]) == 0
    text = capsys.readouterr().out
    assert all(device.name in text for device in cm.devices())
    (line,) = [line for line in text.splitlines() if line.startswith("* ") and "default" not in line]
    assert cm.select_device().name in line


@pytest.mark.parametrize("options", [[], ["--full"]], ids=["quick", "full"])
def test_doctor_finds_every_device_right(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--json", *options]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["works"] and report["problems"] == [] and report["verdict"].startswith("All is well: ")
    assert [device["facts"]["name"] for device in report["devices"]] == [device.name for device in cm.devices()]
    assert [device["default"] for device in report["devices"]].count(True) == 1
    for device, facts in zip(cm.devices(), report["devices"], strict=True):
        checks = 15 * len(device.modes) if options else len(selftest.QUICK)
        assert len(facts["checks"]) >= checks and not any(facts["checks"].values()), facts


def test_doctor_says_first_that_all_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("All is well: ") and cm.select_device().name in " ".join(text.split("\n\n")[0].split())
    assert text.count("checks right") == len(cm.devices())


def test_the_self_test_computes_every_kind_of_reduction() -> None:
    """Two of these checks, and no other one, find PoCL 5.0 wrong where nothing is done about it."""
    names = {"sum over pairs", "minimum over pairs", "nearest columns", "pairs with long weights", "segments"}
    names |= {"pairs of long vectors", "sparse matrix", "keys", "scan"}
    assert names <= set(selftest.cases())


def test_a_device_that_fails_a_quick_check_is_tested_in_full() -> None:
    """What the quick checks found is made up here; the full ones run on the device."""
    quick = apart.Apart(dict, {"sum, auto": "differs from NumPy"})
    found = diagnosis.checks_of(quick, 0, full=False)
    assert len(found) >= 15 * len(cm.devices()[0].modes) and not any(found.values())


def test_doctor_without_a_device_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cm, "devices", list)
    monkeypatch.setattr(diagnosis, "count_devices", int)
    assert cli.main(["doctor"]) == 1
    text = capsys.readouterr().out
    assert text.startswith("Something is wrong: there is no OpenCL device")
    assert 'pip install "clmapreduce[cpu]"' in text


def test_doctor_mends_a_runtime_that_lacks_a_library_and_names_its_licence() -> None:
    (advice,) = diagnosis.repairs(INTEL_WITHOUT_LIBRARY)
    assert 'pip install "clmapreduce[intel]"' in advice
    assert "proprietary" in advice
    state = diagnosis.Diagnosis({}, {}, [INTEL_WITHOUT_LIBRARY], [], [advice], [])
    text = report.as_text(state)
    assert "intel-opencl-rt does not load" in " ".join(text.split("To repair")[0].split())
    assert "FAIL intel-opencl-rt" in text
    assert "libimf.so: cannot open shared object file" in text
    assert advice in " ".join(text.split())


def test_doctor_shrugs_at_an_icd_file_whose_library_is_gone(tmp_path: Path) -> None:
    left_over = INTEL_WITHOUT_LIBRARY | {"origin": str(tmp_path / "old.icd"), "path": str(tmp_path / "libold.so")}
    assert diagnosis.mark(left_over) == "gone"
    assert diagnosis.repairs(left_over) == []


def test_doctor_names_a_wish_that_no_device_fits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLMR_DEVICE", "no such device")
    assert cli.main(["doctor"]) == 1
    text = capsys.readouterr().out
    assert text.startswith("Something is wrong: the default device cannot be chosen")
    assert '$CLMR_DEVICE="no such device" fits no device' in " ".join(text.split())


@pytest.mark.parametrize(
    ("call", "words"),
    [((selftest.run_on, 99, False), ("code 1", "IndexError")), ((os.abort,), ("code -6",)), ((time.sleep, 60), ("no answer within 1 s",))],
    ids=["raises", "crashes", "hangs"],
)  # fmt: skip
def test_doctor_reports_a_self_test_whose_process_fails(
    call: tuple[Any, ...], words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "SECONDS", 1 if call[0] is time.sleep else apart.SECONDS)
    (complaint,) = diagnosis.checks_of(apart.Apart(*call), 0, full=False).values()
    assert all(word in complaint for word in words), complaint


def test_doctor_says_that_a_driver_crashes_when_it_is_asked_for_devices(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(diagnosis, "count_devices", os.abort)
    assert cli.main(["doctor"]) == 1
    text = " ".join(capsys.readouterr().err.split())
    assert "asking the drivers for their devices fails: its process ended with code -6" in text
    assert "OCL_ICD_VENDORS" in text


def test_a_copy_of_a_process_that_has_not_used_opencl_is_tested(tmp_path: Path) -> None:
    """On Linux the command copies itself, which this process can no longer do."""
    script = tmp_path / "script.py"
    script.write_text(
        "import json, multiprocessing, sys\n"
        "import hostsched\n"
        "from clmapreduce.doctor.diagnosis import diagnose\n"
        "if __name__ == '__main__':\n"
        "    before = hostsched.may_fork()\n"
        "    found = diagnose()\n"
        "    print(json.dumps([before, hostsched.may_fork(), [device.works for device in found.devices]]))\n"
    )
    ended = subprocess.run([sys.executable, "-W", "error", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert json.loads(ended.stdout) == [hasattr(os, "fork"), False, [True] * len(cm.devices())]


def test_doctor_counts_a_device_with_a_wrong_result_as_broken() -> None:
    facts = diagnosis.facts_of(cm.devices()[0])
    wrong = diagnosis.DeviceFinding(facts, True, {"map, parallel": "", "sum, parallel": "differs from NumPy"})
    state = diagnosis.Diagnosis({}, {}, [], [wrong], [], [])
    assert not state.works
    assert state.problems == [f"1 of 2 checks fail on {facts['name']}"]
    assert report.as_text(state).startswith("Something is wrong: 1 of 2 checks fail on ")
    assert "1 of 2 checks right" in report.as_text(state)


def test_a_device_that_is_left_out_is_named_and_no_harm(capsys: pytest.CaptureFixture[str]) -> None:
    facts = diagnosis.facts_of(cm.devices()[0])
    works = diagnosis.DeviceFinding(facts, True, {"sum, auto": ""})
    state = diagnosis.Diagnosis({}, {}, [], [works], [], ["the other one builds no kernel"])
    assert report.show(state, as_json=False) == 0
    assert "left out: the other one builds no kernel" in capsys.readouterr().out


def test_a_device_that_is_not_there_is_one_line_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", "--device", "no such device"]) == 1
    assert '"no such device" fits no device' in capsys.readouterr().err


def test_demo_prints_all_modes_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "convergence.png"
    assert cli.main(["demo", "--picture", str(picture)]) == 0
    text = capsys.readouterr().out
    assert len(text.splitlines()) <= 47
    assert max(len(line) for line in text.splitlines() if str(tmp_path) not in line) <= 80
    assert cm.select_device().name in text
    assert f"20! = {math.factorial(20)}" in text
    assert ", ".join(f"{mode} exact" for mode in cm.select_device().modes) in text
    assert "digits right" in text and "WRONG" not in text
    assert str(picture) in text
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_demo_says_where_a_picture_cannot_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", "--picture", str(tmp_path / "missing" / "convergence.png")]) == 1
    streams = capsys.readouterr()
    assert "missing" in streams.err and streams.out == ""


def test_the_pictures_errors_stay_within_truncation_and_rounding() -> None:
    dtype: Any = np.float64 if cm.select_device().fp64 else np.float32
    errors = demo.convergence(dtype)
    assert errors.shape == (len(demo.PICTURE_TERMS), len(demo.POINTS))
    for terms, row in zip(demo.PICTURE_TERMS, errors, strict=True):
        for x, error in zip(demo.POINTS, row, strict=True):
            largest = math.exp(max(x, 0.0)) / math.exp(x)
            truncation = abs(x) ** terms / math.factorial(terms) * largest
            rounding = terms * float(np.finfo(dtype).eps) * math.exp(abs(x)) / math.exp(x)
            assert error <= truncation + rounding, (x, terms)


def test_errors_of_e_fall_to_the_rounding_of_every_precision() -> None:
    device = cm.select_device()
    bits = {"float32": 24, "float64": 53, "cm.df": 48, "cm.dd": 106, "cm.qf": 96, "cm.qd": 212}
    errors = demo.digits.errors(device)
    assert set(errors) == set(bits if device.fp64 else demo.digits.FLOATS)
    for name, curve in errors.items():
        for terms, error in enumerate(curve, 1):
            truncation = 2 / math.factorial(terms) / math.e
            rounding = 60 * 2.0 ** -bits[name]
            assert truncation / 4 - rounding <= error <= truncation + rounding, (name, terms)


def test_the_crossover_lies_where_the_curves_cross() -> None:
    lengths = (10, 100, 1000)
    assert demo.crossover.crossover(lengths, [1, 2, 3], [2, 3, 4]) is None
    assert demo.crossover.crossover(lengths, [2, 4, 40], [1, 1, 1]) == 10
    assert 100 < demo.crossover.crossover(lengths, [1, 10, 100], [20, 20, 20]) < 1000
    assert demo.crossover.crossover(lengths, [9, 1, 100], [1, 10, 1]) == pytest.approx(219, rel=0.01)


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["devices", "--nonsense"]])
def test_a_wrong_command_line_exits_with_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as error:
        cli.main(arguments)
    assert error.value.code == 2
