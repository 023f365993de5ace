"""The examples run on every device, are written as the gallery wants them, and their functions hold where the examples
themselves do not look.
"""

from __future__ import annotations

import ast
import io
import re
import runpy
import subprocess
import sys
import tokenize
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.child_processes import with_library
from support.oracles import assert_near, assert_same, unit

import clmapreduce as cm

ROOT = Path(__file__).resolve().parents[1] / "examples"
EXAMPLES = sorted(ROOT.glob("**/*.py"))
GALLERY = [path for path in EXAMPLES if path.parent != ROOT]
"""The examples in folders of topics."""

SMALL = {"barnes_hut": {"points": 2_000}, "sinkhorn_multiscale": {"points": 600}}
LIBRARIES = ("_torch", "_dask", "_jax", "_sklearn", "_pandas")
"""How the names of examples end that need a library."""

MOST_LINES, MOST_FILES, SMALLEST_PICTURE = 60, 16, 10_000
GEOMETRY = SimpleNamespace(**runpy.run_path(str(ROOT / "geometry" / "vectors.py")))
NOSOL = np.float32(GEOMETRY.NOSOL)
SHAPES = ((3,), (1000,), (200, 3), (7, 100))
NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip


def skip_what_is_missing(path: Path) -> None:
    """Skips the example of a library that is not installed."""
    if path.stem.endswith(LIBRARIES):
        pytest.importorskip(path.stem.rpartition("_")[2])


def lines_of_code(text: str) -> int:
    """Lines that hold code: neither blank, nor of comments alone, nor of docstrings."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in NO_CODE]
    return len({line for token in tokens for line in range(token.start[0], token.end[0] + 1)} - docstrings)


@pytest.mark.drawn
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_runs_and_its_asserts_hold(
    path: Path, context: cm.Context, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And its picture is drawn, which stays open for the page that shows it."""
    plt = pytest.importorskip("matplotlib.pyplot")
    skip_what_is_missing(path)
    monkeypatch.setenv("CLMR_DEVICE", "")  # examples may name one
    plt.switch_backend("agg")
    plt.close("all")
    picture = tmp_path / "drawn.png"
    arguments = {"picture": str(picture)} if "picture" in path.read_text(encoding="utf-8") else {}
    runpy.run_path(str(path))["main"](context.device, **arguments, **SMALL.get(path.stem, {}))
    assert context.device.name in capsys.readouterr().out
    assert not arguments or picture.stat().st_size > SMALLEST_PICTURE
    assert path not in GALLERY or (arguments and len(plt.get_fignums()) == 1)
    plt.close("all")


def test_examples_are_commands(rng: np.random.Generator) -> None:
    """Three of them, other ones in every run; that all end in the same lines is a test of its own."""
    for path in rng.choice(np.array(EXAMPLES), 3, replace=False):
        if find_spec(path.stem.rpartition("_")[2]) is None and path.stem.endswith(LIBRARIES):
            continue
        run = subprocess.run(
            [sys.executable, str(path), "no such device"], capture_output=True, text=True, cwd=ROOT,
            env=with_library(), check=False,
        )  # fmt: skip
        assert run.returncode == 1 and "DeviceError" in run.stderr and "no such device" in run.stderr, path


def test_the_gallery_is_large_and_its_folders_are_not() -> None:
    folders = sorted({path.parent for path in GALLERY})
    assert len(GALLERY) >= 26
    assert all(len(list(folder.glob("*.py"))) <= MOST_FILES for folder in folders)
    for folder in (ROOT, *folders):
        title, line, empty, sentence = (folder / "GALLERY_HEADER.rst").read_text(encoding="utf-8").rstrip().split("\n")
        assert len(line) == len(title) and set(line) in ({"="}, {"-"}) and not empty and sentence.endswith((".", "``."))


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_every_example_has_the_form_of_the_gallery(path: Path) -> None:
    """A title, underlined, and a paragraph; few lines of code; a figure that nothing closes."""
    text = path.read_text(encoding="utf-8")
    empty, title, line, after, *paragraph = (ast.get_docstring(ast.parse(text), clean=False) or "").split("\n")
    assert not empty and not after and title and line == "=" * len(title)
    assert len(" ".join(paragraph)) > 150 and "picture" in " ".join(paragraph).lower()
    assert not re.search(r"[|*`]|_\b", re.sub(r"``.*?``", "", " ".join(paragraph)))  # marks of reStructuredText
    assert lines_of_code(text) <= MOST_LINES
    assert "plt.close" not in text and "plt.show" not in text
    assert re.search(r'^if __name__ == "__main__":\n    main\(\*sys\.argv\[1:3?\]\)', text, flags=re.M)


def test_lines_of_code_are_counted_without_docstrings_comments_and_blank_lines() -> None:
    text = '"""A\n\nb"""\n\nimport sys  # why\n\n# alone\nx = """two\nlines"""\n\n\ndef f():\n    """No."""\n    return (\n        1\n    )\n'
    assert lines_of_code(text) == 7


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

    def test_all_agree_with_numpy(self, vectors: Any, how: Any) -> None:
        b, c = vectors
        wide_b, wide_c, offset = b.astype(np.float64), c.astype(np.float64), 0.5
        n, d = (wide_b * wide_c).sum(-1, keepdims=True), (wide_c**2).sum(-1, keepdims=True)
        terms = np.abs(wide_b * wide_c).sum(-1, keepdims=True)
        # at most 12 roundings of float32, and one of float64 for each term of a sum
        error = 12 * unit(np.float32) + b.shape[-1] * unit(np.float64)
        assert_near(GEOMETRY.armean(b, **how), wide_b.mean(-1), error * np.abs(wide_b).mean(-1))
        assert_near(GEOMETRY.dot(b, c, **how), n[..., 0], error * terms[..., 0])
        assert_near(GEOMETRY.magn2q(c, **how), d[..., 0], error * d[..., 0])
        assert_near(GEOMETRY.magnitude(c, **how), np.sqrt(d[..., 0]), error * np.sqrt(d[..., 0]))
        assert_near(GEOMETRY.proj_a_on_b(b, c, **how), wide_c * n / d, error * np.abs(wide_c) * terms / d)
        plane, size = wide_b - wide_c * (n - offset) / d, np.abs(wide_b) + np.abs(wide_c) * (terms + offset) / d
        assert_near(GEOMETRY.proj_pt_plane(b, c, offset, **how), plane, error * size)

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
