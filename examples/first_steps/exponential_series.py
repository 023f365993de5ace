"""
How many terms does eˣ need?
============================

The terms ``xᵏ/k!`` of the series are each the one before times x/k: a scan multiplies these factors, another adds the
terms up, so that one call gives the sum after every term. The picture shows the errors of these sums. For x = 1 the
error falls as the next term does, 1/(k + 1)!, until the rounding of the dtype is reached: float32, float64, ``cm.dd``
of 32 digits. For x = −20 terms grow to 4·10⁷ before they fall, while the sum is 2·10⁻⁹. The rounding errors of the
large terms remain: in the end neither float32 nor float64 has a right digit; the words of ``cm.dd`` are long enough.
"""

import sys
from decimal import Decimal, localcontext
from fractions import Fraction
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

DTYPES = {"float32": np.float32, "float64": np.float64, "cm.dd": cm.dd}


@cm.fuse
def sums(factors):
    """After every term of a series: factors are 1, and of each further term that by the term before."""
    return cm.Scan("sum")(cm.Scan("product")(factors))


def errors(x: int, terms: int, dtype: object) -> list[float]:
    """Relative errors of the sums after 1, 2, … terms."""
    factors = [Fraction(1), *(Fraction(x, k) for k in range(1, terms))]
    if dtype is cm.dd:
        results = cm.exact(sums(cm.extended(factors, cm.dd)), Decimal)
    else:
        results = [Decimal(value) for value in sums(np.array(factors, dtype)).tolist()]
    with localcontext(prec=60):
        return [float(abs(result / Decimal(x).exp() - 1)) for result in results]


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    with cm.Context(device) as context:
        curves = {
            (x, name): errors(x, terms, dtype) for x, terms in ((1, 32), (-20, 115)) for name, dtype in DTYPES.items()
        }
    for (x, name), values in curves.items():
        print(f"{context.device.name}: x = {x:3}, {name:8} after {len(values)} terms {values[-1]:.0e}")
    limits = {(1, "float32"): 1e-6, (1, "float64"): 1e-15, (1, "cm.dd"): 1e-30, (-20, "cm.dd"): 1e-13}
    assert all(curves[key][-1] < limit for key, limit in limits.items()) and curves[-20, "float32"][-1] > 1

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, both = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
        for axes, x in zip(both, (1, -20), strict=True):
            for name, color in zip(DTYPES, ("tab:orange", "tab:blue", "black"), strict=True):
                axes.semilogy(np.arange(len(curves[x, name])) + 1, curves[x, name], ".-", color=color, label=name)
            axes.axhline(1, color="grey", linestyle=":")
            axes.set(xlabel="terms", ylim=(1e-34, 1e20))
        both[0].set(title="x = 1: the dtype says where the error stays", ylabel="relative error of the sum")
        both[1].set(title="x = −20: above the dotted line no digit is right")
        both[0].legend()
        if picture:
            figure.savefig(picture, dpi=100)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
