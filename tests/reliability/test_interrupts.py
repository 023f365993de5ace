"""Ctrl-C in a long call: the prompt comes back, the next call is right, and the process ends cleanly."""

from __future__ import annotations

import pytest
from support.child_processes import Program, ended_well

SCRIPT = """
try:
    (gaussian(x, y)).sum(axis=1, progress=interrupt)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_then_exit(program: Program) -> None:
    ended_well(program(SCRIPT), "interrupted")


def test_then_another_call(program: Program) -> None:
    again = 'print(cm.Reduce("sum")(few))'
    ended_well(program(SCRIPT + again), "interrupted", "499500.0")


def test_then_the_same_kernel_on_device_arrays(program: Program) -> None:
    again = """
small = cm.array(cloud(300))
expected = np.exp(-((small.to_numpy()[:, None] - small.to_numpy()) ** 2).sum(-1).astype(np.float64)).sum(1)
for _ in range(20):
    assert np.allclose(gaussian(small, small).sum(axis=1).to_numpy()[:, 0], expected, rtol=1e-5)
print("right")
"""
    ended_well(program(SCRIPT + again), "interrupted", "right")


@pytest.mark.parametrize("part", ["to_numpy", "call"])
def test_device_arrays(program: Program, part: str) -> None:
    lines = """
try:
    x, y, b = map(cm.array, (x, y, b))
    sums = gaussian(x, y).__matmul__(b) if PART == "to_numpy" else gaussian(x, y).sum(axis=1, progress=interrupt)
    print("not here")
except KeyboardInterrupt:
    print("interrupted")
print(cm.array(few).to_numpy().sum(), cm.Reduce("sum")(cm.array(few)).to_numpy())
"""
    timer = 'threading.Timer(1, signal.raise_signal, [signal.SIGINT]).start() if PART == "to_numpy" else None\n'
    ended_well(program(f"PART = {part!r}\n{timer}{lines}"), "interrupted", "499500.0 499500.0")


def test_twice_in_a_row(program: Program) -> None:
    ended_well(program(SCRIPT * 3), *["interrupted"] * 3)


def test_buffers_of_an_interrupted_call_are_not_handed_out_too_early(program: Program) -> None:
    """Results that follow on memory of the same size are right while the dropped call's last pieces still write."""
    lines = SCRIPT.replace("x, y)", "dx, dy)") + """
wrong = 0
for k in range(50):
    v = cm.array(np.full(len(x), k, np.float32))
    wrong += not (cm.Map("v + 1")(v).to_numpy() == k + 1).all()
print(wrong)
"""
    ended_well(program("dx, dy = cm.array(x), cm.array(y)\n" + lines), "interrupted", "0")


def test_cancel_from_another_thread(program: Program) -> None:
    lines = """
start = threading.Event()
def cancel():
    start.wait()
    context.cancel()
threading.Thread(target=cancel).start()
try:
    gaussian(x, y).sum(axis=1, progress=lambda done, total: start.set())
except cm.Cancelled as error:
    print(type(error).__name__, isinstance(error, cm.ClMapReduceError))
print(cm.Reduce("sum")(few))
"""
    ended_well(program(lines), "Cancelled True", "499500.0")
