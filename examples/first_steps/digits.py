"""
Digits that a subtraction loses, and digits asked for
=====================================================

``erfc(x) = 1 − erf(x)`` is the chance of a large deviation. Subtracted as written in float64, its relative error
grows as 10⁻¹⁶ / erfc(x): beyond x = 5.9 no digit is right. ``cm.series.erfc`` gives 16, 30 or 60 right digits, as you
ask, at every x. The picture counts the right digits of each; the reference is the series in Python's decimals.
"""

import math
import sys
from decimal import Decimal, localcontext
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

X = np.arange(1, 49) / 6.0
PI = Decimal("3.141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825342117")


def complement(x: float) -> Decimal:
    """erfc(x) to 70 digits and more, for x up to 8: 1 less the Taylor series of erf."""
    with localcontext(prec=130):
        term = total = Decimal(x)
        for k in range(1, 600):
            term *= -Decimal(x) ** 2 / k
            total += term / (2 * k + 1)
        return 1 - 2 * total / PI.sqrt()


def right(results: list[Decimal], exact: list[Decimal]) -> np.ndarray:
    """How many digits are right, from 0 to 66."""
    off = [abs(result / value - 1) for result, value in zip(results, exact, strict=True)]
    return np.array([min(66.0, max(0.0, -float(o.log10()))) if o else 66.0 for o in off])


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    exact = [complement(x) for x in X]
    with cm.Context(device) as context, localcontext(prec=80):
        curves = {"digits=16": right([Decimal(value) for value in cm.series.erfc(X, digits=16).tolist()], exact)}
        for digits in (30, 60):
            curves[f"digits={digits}"] = right(cm.exact(cm.series.erfc(X, digits=digits), Decimal), exact)
        curves["1 − erf(x) in float64"] = right([1 - Decimal(math.erf(x)) for x in X], exact)
        print(f"{context.device}\nπ = {cm.exact(cm.series.pi(60), str, digits=60)}")
        for name, digits in curves.items():
            print(f"{name}: at least {digits.min():.1f} right digits up to x = {X[-1]:.0f}")
    assert all(curves[f"digits={d}"].min() > d - 1 for d in (16, 30, 60)) and curves["1 − erf(x) in float64"][-1] == 0
    assert abs(cm.exact(cm.series.pi(60), Decimal) - PI) < Decimal("1e-58")

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
        for (name, digits), style in zip(curves.items(), ("C0o-", "C0s-", "C0^-", "C1x-"), strict=True):
            axes.plot(X, digits, style, markersize=4, label=name)
        axes.set(xlabel="x", ylabel="right digits of erfc(x)", title="1 − erf(x) has no digit left where erfc has all")
        axes.legend(loc=(0.66, 0.57))
        if picture:
            figure.savefig(picture, dpi=100)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
