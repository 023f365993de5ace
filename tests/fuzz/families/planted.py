"""Faults that a run must find: run by name, never drawn."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
from fuzz.case import Case, Shape
from fuzz.expressions import expected
from fuzz.inputs import in_some_form, results

import clmapreduce as cm


def wrong(case: Case) -> Shape:
    """Every fourth result is off by a few units in the last place."""
    good, off = cm.Map("x * 2.0"), cm.Map("x * 2.000001")

    def run(case: Case) -> None:
        x = case.rng.uniform(1, 2, 100).astype("f4")
        argument = in_some_form(case, x)
        primitive = off if case.chance(0.25) else good
        (result,) = results(case, lambda **k: primitive(argument, **k), [argument], case.how())
        expected(("times", ("x", 0), ("number", 2.0)), [x]).check(result)

    return run


def crash(case: Case) -> Shape:
    def run(case: Case) -> None:
        if case.chance(0.25):
            os.kill(os.getpid(), signal.SIGSEGV)

    return run


def hang(case: Case) -> Shape:
    def run(case: Case) -> None:
        if case.chance(0.25):
            time.sleep(1e6)

    return run


def unwritten(case: Case) -> Shape:
    """An output of which the last element is not written."""

    def run(case: Case) -> None:
        def call(out: np.ndarray | None = None, **how: object) -> np.ndarray:
            array = np.zeros(9) if out is None else out
            (array if isinstance(array, np.ndarray) else array.to_numpy())[:8] = 0
            return array

        results(case, call, [], {})

    return run


PLANTED = {"planted_wrong": wrong, "planted_crash": crash, "planted_hang": hang, "planted_unwritten": unwritten}
