"""Kernels under oclgrind, which sees data races, reads and writes outside of memory, and barriers that not all pass.

A case is a process of its own; its log must be empty. `make sanitize` runs this. Planted faults show that the log tells.
Uninitialised reads are looked for in planted kernels only: with that check oclgrind 21.10 crashes on kernels that hold
vectors, and where it does not, it changes their results.
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
from sanitize.cases import CASES, PLANTED

from cl_templates import template_names

DRIVER = Path("/usr/lib/oclgrind/liboclgrind-rt-icd.so")
SECONDS = 240
MODES = ("sequential", "parallel")
ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.sanitize,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not DRIVER.exists(), reason=f"oclgrind is not installed: there is no {DRIVER}"),
]


@dataclass(frozen=True)
class Ended:
    """What a process under oclgrind left."""

    code: int
    output: str
    log: str


def under_oclgrind(case: str, mode: str, folder: Path) -> Ended:
    """Runs a case in a process of its own."""
    log = folder / f"{case}-{mode}.log"
    settings = {
        "OCL_ICD_VENDORS": str(DRIVER),
        "OCLGRIND_DATA_RACES": "1",
        "OCLGRIND_LOG": str(log),
        "OCLGRIND_MAX_ERRORS": "2000",
        "PYOPENCL_NO_CACHE": "1",
        "CLMR_EXACT_BUFFERS": "1",
        "CLMR_CACHE_DIR": str(folder / "kernels"),
        "PYTHONPATH": str(ROOT),
    }
    if mode == "planted":  # any value switches it on
        settings["OCLGRIND_UNINITIALIZED"] = "1"
    command = [sys.executable, str(Path(__file__).with_name("cases.py")), case, mode]
    ended = subprocess.run(
        command, env={**os.environ, **settings}, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    return Ended(ended.returncode, ended.stdout + ended.stderr[-2000:], log.read_text() if log.exists() else "")


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[str, str], Future[Ended]]]:
    """(case, mode) → its end, all under way at once on the processors there are."""
    folder = tmp_path_factory.mktemp("sanitize")
    keys = [(case, mode) for case in CASES for mode in MODES]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = {key: pool.submit(under_oclgrind, *key, folder) for key in keys}
        yield found
        for future in found.values():
            future.cancel()


NO_KERNEL = {("segments, maximum", "parallel"), ("segments, minimum", "parallel")}
"""oclgrind 21.10 builds segmented_join for these operators, and then makes no kernel of it."""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
def test_no_kernel_races_or_leaves_its_memory(
    case: str, mode: str, ended: dict[tuple[str, str], Future[Ended]]
) -> None:
    found = ended[case, mode].result()
    assert found.log == ""
    if (case, mode) in NO_KERNEL:
        assert "has no kernel 'cmr_segmented_join'" in found.output, "oclgrind runs it now: take it from NO_KERNEL"
    else:
        assert found.code == 0, found.output


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_logged(fault: str, tmp_path: Path) -> None:
    found = under_oclgrind(fault, "planted", tmp_path)
    assert found.code == 0, found.output
    assert (found.log == "") == (fault == "no fault")


NOT_RUN = """
    bases keyed_team marks pairwise_few pairwise_last pairwise_matrix pairwise_matrix_bars
    pairwise_matrix_chained pairwise_matrix_filter pairwise_matrix_long pairwise_matrix_nearest
    pairwise_matrix_pack pairwise_matrix_redo pairwise_matrix_sample pairwise_matrix_weighted
    pairwise_matrix_wide pairwise_merge pairwise_nearest pairwise_operands pairwise_parts pairwise_weights
    pairwise_wide pairwise_wide_rows power_series segmented_cuts segmented_expand segmented_team unfold
"""
# Templates that no case runs yet.


def test_which_templates_ran(ended: dict[tuple[str, str], Future[Ended]]) -> None:
    """A new template needs a case."""
    outputs = [future.result().output.splitlines() for future in ended.values()]
    ran = {name for lines in outputs if lines and lines[0].startswith("[") for name in json.loads(lines[0])}
    assert set(template_names()) - ran == {f"kernel/{name}" for name in NOT_RUN.split()}
