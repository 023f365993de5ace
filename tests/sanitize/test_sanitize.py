"""Kernels under oclgrind, which sees data races, accesses outside of memory, barriers that not all items pass, and reads of
memory that no command wrote.

A case is a process of its own; its log must be empty. `make sanitize` runs this. Planted faults show that the log reports them.
Kernels are compiled without optimisation (`-O0`). With it oclgrind 21.10 takes `~(x == y) & 1` of vectors for 255, and has no function `llvm.usub.sat`, which LLVM 14 makes of a clamped
difference. So the text itself is checked, and no load is optimised away.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from sanitize.cases import CASES
from sanitize.planted import FALSE_ALARM, PLANTED

from cl_templates import template_names

DRIVER = Path("/usr/lib/oclgrind/liboclgrind-rt-icd.so")
SECONDS = 900
TESTS = Path(__file__).resolve().parents[1]
LOOKED_AT = {
    *((case, mode) for case in ("maps", "unfolds", "partials", "pipelines") for mode in ("sequential", "parallel")),
    *((case, "parallel") for case in ("scans", "power series", "segments", "sparse matrices", "walks", "teams")),
    *((case, "parallel") for case in ("pairs, folded", "pairs, places", "pairs, angles", "units, folded")),
}  # fmt: skip
"""Cases checked for reads of memory that no command wrote. In others this check of oclgrind 21.10 crashes, or gives a false
alarm wherever the upper half of sixteen numbers is taken: a test below shows it.
"""
RUNS = [(case, mode) for case in CASES for mode in CASES[case].modes]

pytestmark = [
    pytest.mark.sanitize,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not DRIVER.exists(), reason=f"oclgrind is not installed: there is no {DRIVER}"),
]


@dataclass(frozen=True)
class Outcome:
    """What a process under oclgrind left."""

    code: int
    output: str
    log: str


def under_oclgrind(case: str, mode: str, folder: Path, check_reads: bool) -> Outcome:
    """Runs a case in a process of its own. check_reads: whether to look for reads of
    memory that no command wrote."""
    log = folder / f"{case}-{mode}-{check_reads}.log"
    settings = {
        "OCL_ICD_VENDORS": str(DRIVER),
        "OCLGRIND_BUILD_OPTIONS": "-O0",
        "OCLGRIND_DATA_RACES": "1",
        "OCLGRIND_LOG": str(log),
        "OCLGRIND_MAX_ERRORS": "2000",
        "PYOPENCL_NO_CACHE": "1",
        "CLMR_EXACT_BUFFERS": "1",
        "CLMR_CACHE_DIR": str(folder / "kernels"),
        "PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS)]),
    }
    if check_reads:  # any value switches it on
        settings["OCLGRIND_UNINITIALIZED"] = "1"
    process = subprocess.run(
        [sys.executable, "-m", "sanitize", case, mode], env={**os.environ, **settings}, capture_output=True, text=True,
        timeout=SECONDS, check=False,
    )  # fmt: skip
    return Outcome(process.returncode, process.stdout + process.stderr[-2000:], log.read_text() if log.exists() else "")


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[str, str], Future[Outcome]]]:
    """(case, mode) → its end, all under way at once on the processors there are."""
    folder = tmp_path_factory.mktemp("sanitize")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        futures = {run: pool.submit(under_oclgrind, *run, folder, run in LOOKED_AT) for run in RUNS}
        yield futures
        for future in futures.values():
            future.cancel()


@pytest.mark.parametrize(("case", "mode"), RUNS)
def test_no_kernel_races_or_leaves_its_memory(
    case: str, mode: str, outcomes: dict[tuple[str, str], Future[Outcome]]
) -> None:
    outcome = outcomes[case, mode].result()
    assert outcome.log == ""
    assert outcome.code == 0, outcome.output


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_logged(fault: str, tmp_path: Path) -> None:
    outcome = under_oclgrind(fault, "planted", tmp_path, True)
    assert outcome.code == 0, outcome.output
    assert (outcome.log == "") == (fault == "no fault")


def test_why_some_cases_are_not_looked_at_for_uninitialised_reads(tmp_path: Path) -> None:
    """oclgrind 21.10 takes numbers in the upper half of sixteen for unwritten: with that check alone it complains."""
    for check_reads in (False, True):
        outcome = under_oclgrind(FALSE_ALARM, "planted", tmp_path, check_reads)
        assert outcome.code == 0, outcome.output
        assert ("Uninitialized" in outcome.log) == check_reads, "oclgrind is right now: look at every case"


def test_which_templates_ran(outcomes: dict[tuple[str, str], Future[Outcome]]) -> None:
    """A new template needs a case."""
    outputs = [future.result().output.splitlines() for future in outcomes.values()]
    ran = {name for lines in outputs if lines and lines[0].startswith("[") for name in json.loads(lines[0])}
    assert {name for name in template_names() if name.startswith("kernel/")} == ran
