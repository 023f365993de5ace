"""The examples run on every device, and their functions hold where the examples themselves do not look."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.child_processes import with_library
from support.oracles import assert_near, assert_same, unit

import clmapreduce as cm

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PICTURES = [path for path in EXAMPLES if "picture" in path.read_text(encoding="utf-8")]
SMALL = {"barnes_hut": {"points": 2_000}, "sinkhorn_multiscale": {"points": 600}}
GEOMETRY = SimpleNamespace(**runpy.run_path(str(next(p for p in EXAMPLES if p.stem == "geometry"))))
NOSOL = np.float32(GEOMETRY.NOSOL)
SHAPES = ((3,), (1000,), (200, 3), (7, 100))


def skip_what_is_missing(path: Path) -> None:
    """Skips the example of a library that is not installed."""
    for library in ("torch", "dask", "jax", "sklearn"):
        if path.stem.endswith(f"_{library}"):
            pytest.importorskip(library)


@pytest.mark.drawn
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_runs_and_its_asserts_hold(
    path: Path, context: cm.Context, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And its picture is drawn, if it has one."""
    pytest.importorskip("matplotlib")
    skip_what_is_missing(path)
    monkeypatch.setenv("CLMR_DEVICE", "")  # examples may name one
    arguments = {"picture": str(tmp_path / "drawn.png")} if path in PICTURES else {}
    runpy.run_path(str(path))["main"](context.device, **arguments, **SMALL.get(path.stem, {}))
    assert context.device.name in capsys.readouterr().out
    assert not arguments or (tmp_path / "drawn.png").stat().st_size > 10_000


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_a_command(path: Path) -> None:
    skip_what_is_missing(path)
    run = subprocess.run(
        [sys.executable, str(path), "no such device"], capture_output=True, text=True, cwd=ROOT,
        env=with_library(), check=False,
    )  # fmt: skip
    assert run.returncode == 1 and "DeviceError" in run.stderr and "no such device" in run.stderr


@pytest.mark.drawn
@pytest.mark.parametrize("shape", SHAPES, ids=str)
class TestGeometry:
    @pytest.fixture
    def how(self, shape: tuple[int, ...], context: cm.Context, mode: str) -> dict[str, Any]:
        """The keywords of a call for this shape."""
        return {"context": context, "mode": mode, "batch": len(shape) > 1}

    @pytest.fixture
    def vectors(self, shape: tuple[int, ...], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        b, c = rng.standard_normal((2, *shape), dtype=np.float32)
        return b, c

    def test_all_agree_with_numpy(self, shape: tuple[int, ...], context: cm.Context, mode: str) -> None:
        with context:
            GEOMETRY.check(shape, mode)

    def test_one_component_decides(self, vectors: Any, how: Any, rng: np.random.Generator) -> None:
        b, _ = vectors
        at = (..., int(rng.integers(b.shape[-1])))
        for test, vector in (
            (GEOMETRY.is_zero, np.zeros_like(b)),
            (GEOMETRY.is_nosol, np.full_like(b, NOSOL)),
            (lambda x, **how: GEOMETRY.is_equal(x, b, **how), b.copy()),
        ):
            assert_same(test(vector, **how), np.ones(b.shape[:-1], bool))
            vector[at] = 1e-30
            assert_same(test(vector, **how), np.zeros(b.shape[:-1], bool))

    def test_the_rest_of_a_projection_is_orthogonal(self, vectors: Any, how: Any) -> None:
        b, c = vectors
        rest = b - GEOMETRY.proj_a_on_b(b, c, **how)
        size = (np.abs(b.astype(float) * c) + np.abs(c * rest)).sum(-1)
        assert_near((rest.astype(float) * c).sum(-1), np.zeros(b.shape[:-1]), 16 * unit(np.float32) * size)

    def test_points_land_on_the_plane(self, vectors: Any, how: Any) -> None:
        b, c = vectors
        result = GEOMETRY.proj_pt_plane(b, c, -2.5, **how)
        size = (np.abs(b.astype(float) * c) + np.abs(c.astype(float) * (b - result))).sum(-1) + 2.5
        assert_near((result.astype(float) * c).sum(-1), np.full(b.shape[:-1], -2.5), 16 * unit(np.float32) * size)

    def test_zero_vectors_have_no_solution_and_spoil_no_other(self, vectors: Any, how: Any) -> None:
        b, c = vectors
        whole = c.copy()
        c[::2] = 0  # every second row; in a vector, every second component
        zero = (c == 0).all(-1)
        for result, exact in (
            (GEOMETRY.proj_a_on_b(b, c, **how), GEOMETRY.proj_a_on_b(b, whole, **how)),
            (GEOMETRY.proj_pt_plane(b, c, 1.5, **how), GEOMETRY.proj_pt_plane(b, whole, 1.5, **how)),
        ):
            assert_same(GEOMETRY.is_nosol(result, **how), zero)
            assert result.dtype == np.float32 and np.isfinite(result).all()
            assert_same((result == NOSOL).all(-1), zero)
            if b.ndim > 1:
                assert_same(result[1::2], exact[1::2])

    def test_numbers_of_double_width_stay_wide(self, vectors: Any, how: Any) -> None:
        if not how["context"].device.fp64:
            pytest.skip("no float64")
        b, c = (v.astype(np.float64) for v in vectors)
        b += np.pi
        n, d = (b * c).sum(-1, keepdims=True), (c * c).sum(-1, keepdims=True)
        scale = np.abs(b * c).sum(-1, keepdims=True) * np.abs(c) / d
        limit = (16 + 2 * b.shape[-1]) * unit(np.float64) * scale
        assert_near(GEOMETRY.proj_a_on_b(b, c, **how), c * n / d, limit)
        mean = np.abs(b).mean(-1) * (4 + b.shape[-1]) * unit(np.float64)
        assert_near(GEOMETRY.armean(b, **how), b.mean(-1), mean)
        assert_same(GEOMETRY.is_nosol(GEOMETRY.proj_a_on_b(b, 0 * c, **how), **how), np.ones(b.shape[:-1], bool))
