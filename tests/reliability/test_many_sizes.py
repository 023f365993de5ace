"""Calls of one kernel on many sizes are in flight at once."""

from __future__ import annotations

from support.child_processes import Program, ended_well


def test_launches_of_many_sizes_are_in_flight_at_once(program: Program) -> None:
    """Versions of one kernel meet: see hostsched/kernels/versions.py. No driver here fails without that order."""
    lines = """
x = cm.array(np.ones(1 << 20, np.float32))
parts = [cm.array(np.ones(n, np.float32)) for n in rng.integers(1, 1 << 18, 60)]
double = cm.Map(lambda v: v * 2)
for _ in range(5):
    results = [double(part) for part in parts]
    results.append(double(x))
print(all((r.to_numpy() == 2).all() for r in results))
"""
    ended_well(program(lines), "True")
