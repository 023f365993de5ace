"""The functions of the gallery's examples with random numbers, beside other methods in float64."""

from __future__ import annotations

import runpy
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.oracles import assert_near, assert_same, unit

import clmapreduce as cm

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def functions_of(name: str) -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(EXAMPLES / f"{name}.py")))


MESH, BOXES = functions_of("geometry/mesh_distance"), functions_of("statistics/box_plots")
SERIES, FACTORIALS = functions_of("first_steps/exponential_series"), functions_of("first_steps/factorials")
MAZE, GRID = functions_of("sparse/shortest_paths"), functions_of("sparse/finite_elements")
FRACTAL, RAYS = functions_of("images/mandelbrot"), functions_of("images/ray_marching")


def distance_to_triangle(p: np.ndarray, corners: np.ndarray) -> float:
    """|p − q| for the nearest point q of a triangle, by cases (Ericson, Real-Time Collision Detection, 5.1.5)."""
    a, b, c = corners
    ab, ac, ap = b - a, c - a, p - a
    matrix = np.array([[ab @ ab, ab @ ac], [ab @ ac, ac @ ac]])
    u, v = np.linalg.solve(matrix, [ab @ ap, ac @ ap])
    if u >= 0 and v >= 0 and u + v <= 1:
        return float(np.linalg.norm(ap - u * ab - v * ac))
    shares = [(s, e, np.clip((p - s) @ (e - s) / ((e - s) @ (e - s)), 0, 1)) for s, e in ((a, b), (b, c), (c, a))]
    return min(float(np.linalg.norm(p - s - share * (e - s))) for s, e, share in shares)


def test_distances_to_triangles_are_those_of_their_nearest_points(context: cm.Context, rng: np.random.Generator) -> None:
    points = 2 * rng.standard_normal((70, 3), dtype=np.float32)
    corners = rng.standard_normal((33, 3, 3), dtype=np.float32)
    exact = [[distance_to_triangle(p, t) for t in corners.astype(np.float64)] for p in points.astype(np.float64)]
    with context:
        squares = MESH.square_distance(points, corners).to_numpy()
        least, place = MESH.square_distance(points, corners).min_argmin(dim=1)
    # normals of triangles are off by u / s for an angle of sine s, which is below 1e-3 for one of a million
    limit = 16 * unit(np.float32) / 1e-3
    assert_near(np.sqrt(squares), np.array(exact), limit)
    assert_near(np.sqrt(least[:, 0]), np.min(exact, 1), limit)
    assert_near(np.take_along_axis(np.array(exact), place, 1)[:, 0], np.min(exact, 1), 2 * limit)


@pytest.mark.parametrize("upper", [False, True])
def test_halves_leave_out_the_middle_of_odd_segments(upper: bool, rng: np.random.Generator) -> None:
    counts = np.concatenate([[0, 1, 2, 3], rng.integers(0, 20, 10)])
    offsets = np.concatenate([[0], np.cumsum(counts)])
    places, ends = BOXES.halves(offsets, upper)
    expected = []
    for start, count in zip(offsets, counts, strict=False):
        whole = list(range(start, start + count))
        expected.append(whole[count - count // 2 :] if upper else whole[: count // 2])
    assert_same(np.diff(ends), np.array([len(half) for half in expected]))
    assert places.tolist() == [place for half in expected for place in half]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, cm.dd], ids=["float32", "float64", "dd"])
def test_errors_of_sums_are_what_is_left_of_the_series(dtype: object, context: cm.Context) -> None:
    x, terms = 2, 12
    with context:
        errors = SERIES.errors(x, terms, dtype)
    term, total, sums = Fraction(1), Fraction(0), []
    for k in range(1, terms + 1):
        total, term = total + term, term * x / k
        sums.append(total)
    exact = np.array([float(1 - total / Fraction(np.exp(x))) for total in sums])
    rounding = 4 * terms * (unit(np.float64) if dtype is cm.dd else unit(dtype))  # e² itself is a float64 here
    assert_near(errors, exact, rounding)


def test_entries_of_a_number_name_its_bits(rng: np.random.Generator) -> None:
    for n in (1, 2, 3, *rng.integers(1, 1 << 40, 20).tolist()):
        entries = FACTORIALS.entries_of(n)
        assert sum(i & -i for i in entries) == n and len(entries) == n.bit_count()


def test_every_cell_of_a_maze_is_reached(rng: np.random.Generator) -> None:
    open_cells = MAZE.maze(rng)
    reached = np.zeros_like(open_cells)
    reached[0, 0] = True
    for _ in range(open_cells.size):
        grown = np.pad(reached, 1)
        grown = grown[2:, 1:-1] | grown[:-2, 1:-1] | grown[1:-1, 2:] | grown[1:-1, :-2] | reached
        grown &= open_cells
        if (grown == reached).all():
            break
        reached = grown
    assert reached[::2, ::2].all() and open_cells[::2, ::2].all()


def test_triangles_fill_the_square_and_matrices_know_linear_functions() -> None:
    points, inner, corners = GRID.triangles()
    stiffness, area = GRID.local_matrices(points, corners)
    assert abs(area.sum() - 1) < 1e-12 and (area > 0).all() and inner.sum() == (GRID.SIDE - 1) ** 2
    slopes = points @ np.array([2.0, -3.0])  # uᵀ A u is the integral of |∇u|² = 13
    energy = np.einsum("ti,tij,tj->t", slopes[corners], stiffness, slopes[corners])
    assert_near(energy, 13 * area, 1e-10)


def test_escape_counts_steps_within_the_circle(context: cm.Context, rng: np.random.Generator) -> None:
    c = (2 * rng.standard_normal((FRACTAL.HEIGHT, FRACTAL.WIDTH, 2), dtype=np.float32)).clip(-2, 2)
    a, b = (np.ascontiguousarray(part) for part in np.moveaxis(c, -1, 0))
    with context:
        counts = FRACTAL.counts(0 * a, 0 * b, a, b)
    z, exact, least = np.zeros(a.shape, complex), np.zeros(a.shape, int), np.full(a.shape, np.inf)
    for _ in range(8):
        within = abs(z) <= 2
        z = np.where(within, z * z + (a + 1j * b.astype(float)), z)
        exact += within
        least = np.minimum(least, abs(abs(z) - 2))
    clear = (least > 1e-3) & (abs(z) > 2)  # float32 goes the same way, and out in these steps
    assert clear.mean() > 0.3
    assert_same(counts[clear], exact[clear].astype(np.int32))


def test_the_scene_s_distance_is_never_larger_than_that_to_its_surface(rng: np.random.Generator) -> None:
    """What sphere tracing asks for: a step as long as the distance never passes through a surface."""
    near, far = rng.uniform(-1.5, 1.5, (2, 3, 20_000))
    here, there = RAYS.scene(*near), RAYS.scene(*far)
    assert np.all(np.abs(here - there) <= np.linalg.norm(near - far, axis=0) * (1 + 1e-9))
