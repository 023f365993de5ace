"""docs/extend.md: each diff applies to the packages, and its code gives right numbers on every device."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.child_processes import with_library

import clmapreduce as cm

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
NAMES = ("operator", "function", "scheme", "vocabulary")
DIFFS = dict(zip(NAMES, re.findall(r"```diff\n(.*?)```", PAGE, re.DOTALL), strict=True))

HEAD = """
import sys
import numpy as np
import clmapreduce as cm

context = cm.Context(cm.devices()[int(sys.argv[1])])
cm.use(context)
rng = np.random.default_rng(int(sys.argv[2]))
x, y = (rng.normal(size=(count, 3)).astype("f4") for count in (500, 20))
e = rng.normal(size=(500, 1)).astype("f4")
unit = 2.0**-24  # float32's rounding, of itself
modes = ("sequential", "parallel") if context.device.sound_groups else ("sequential",)


def pairs(formula, *more):
    return cm.Genred(formula, ["x=Vi(3)", "y=Vj(3)", *more], "Sum", axis=1)


# A sum over columns is off by what its terms are off by, and by the rounding of its additions.
def assert_sum(result, terms, errors):
    expected, limit = terms.sum(1), errors.sum(1) + terms.shape[1] * unit * abs(terms).sum(1)
    of_limit = abs(np.reshape(result, expected.shape) - expected) / limit
    assert (of_limit <= 1).all(), f"errors are up to {of_limit.max():.3g} of what is allowed"


# Eight roundings of the exponent and 2e-6 of the term, which every vocabulary promises.
def exponential_errors(exponents):
    return np.exp(-exponents) * (8 * unit * exponents + 2e-6)
"""
PROGRAMS = {
    "operator": """
values = rng.normal(size=100_003).astype("f4")
for mode in modes:
    for part in (values, values[:1], values[:77]):
        assert cm.Reduce("span")(part, mode=mode) == np.ptp(part)
    missing = values.copy()
    missing[70_000] = np.nan
    assert np.isnan(cm.Reduce("span")(missing, mode=mode))
    parts = cm.segmented_reduce(values, [0, 3, 1000, 100_003], "span", mode=mode)
    assert (parts == [np.ptp(values[a:b]) for a, b in ((0, 3), (3, 1000), (1000, 100_003))]).all()
""",
    "function": """
wide = y.astype("f8")
t = np.tanh(x.astype("f8") @ wide.T)
errors = 3 * unit * (abs(x).astype("f8") @ abs(wide.T)) + 5 * unit  # of the argument, and OpenCL's tanh
for mode in modes:
    assert_sum(pairs("Tanh(x|y)")(x, y, mode=mode), t, errors)
    slope = pairs("Grad(Tanh(x|y), x, e)", "e=Vi(1)")(x, y, e, mode=mode)
    scale = abs(e[:, None] * wide)  # (rows, columns, coordinates)
    assert_sum(slope, e[:, None] * (1 - t * t)[..., None] * wide, scale * (2 * errors + 4 * unit)[..., None])
""",
    # Matrix units have no formula of absolute values: the planner asks the portable schemes on every device.
    "scheme": """
distances = abs(x[:, None].astype("f8") - y[None]).sum(2)
laplacian = pairs("Exp(-Sum(Abs(x - y)))")
for mode in modes:
    for columns in (1, 20):
        out = cm.array(np.full((500, 1), np.nan, "f4"))
        result = laplacian(x, y[:columns], mode=mode, out=out).to_numpy()
        assert_sum(result, np.exp(-distances[:, :columns]), exponential_errors(distances[:, :columns]))
    assert "read where they lie" in str(laplacian.explain(x, y, mode=mode))
    assert "read where they lie" not in str(laplacian.explain(y, x, mode=mode))
""",
    "vocabulary": """
from dataclasses import replace

from cl_templates.loader import _definition as definition
from hostsched.device import traits

assert traits.traits_of("amd").vocabulary == "amd" != traits.traits_of("other").vocabulary
maker = context.device.vendor
# this device's kernels use AMD's words
traits._TRAITS[maker] = replace(traits.traits_of(maker), vocabulary="amd", cpu_subgroups=1)
foreign = cm.Context(context.device)
assert "amd" in foreign.facts.vocabulary.split("+")  # "wide+amd" on PoCL from 5.0 on
assert "native_exp2" in definition("exp2_fast", "float", "amd")
squares = ((x[:, None].astype("f8") - y[None]) ** 2).sum(2)
gaussian = pairs("Exp(-SqDist(x, y))")
for mode in modes:
    result = gaussian(x, y, mode=mode, context=foreign)
    # Another maker's native_exp2 is less exact than AMD's: Intel's is off by 7.5e-5 on CPUs without AVX-512.
    assert_sum(result, np.exp(-squares), exponential_errors(squares) + 1e-4 * np.exp(-squares))
""",
}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages with all four additions."""
    place = tmp_path_factory.mktemp("extended")
    for package in ("clmapreduce", "cl_templates", "hostsched"):
        shutil.copytree(ROOT / package, place / package, ignore=shutil.ignore_patterns("__pycache__"))
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(place.parent)}
    for name, diff in DIFFS.items():
        process = subprocess.run(
            ["git", "apply", "-"], cwd=place, env=environment, input=diff, text=True, capture_output=True, check=False
        )
        assert process.returncode == 0, f"the diff of the {name} does not apply: {process.stderr}"
    return place


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_addition_works(name: str, packages: Path, context: cm.Context, rng: np.random.Generator) -> None:
    index = cm.devices().index(context.device)
    seed = str(rng.integers(2**31))
    environment = with_library()
    environment["PYTHONPATH"] = os.pathsep.join([str(packages), environment["PYTHONPATH"]])
    program = [sys.executable, "-c", HEAD + PROGRAMS[name], str(index), seed]
    process = subprocess.run(program, cwd=packages, env=environment, capture_output=True, text=True, timeout=250, check=False)
    assert process.returncode == 0, process.stderr
