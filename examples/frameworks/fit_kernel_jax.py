"""
A kernel's width, learnt with JAX
=================================

Kernel ridge regression predicts ``f(x) = k(x)ᵀ (K + α I)⁻¹ y`` with ``k(x, y) = exp(−p |x − y|²)``. One function under
``jax.jit`` computes the error on new places and its slope by p, through the prediction and the solver. The picture
shows the curve of the error, tangents by its slope, and the steps that go down to its least value.
"""

import sys
from importlib.util import find_spec

import jax
import jax.numpy as jnp
import numpy as np

import clmapreduce as cm
import clmapreduce.jax as cj

POINTS, ALPHA, STEPS, RATE = 200, 0.05, 25, 0.3
ALIASES = ["x = Vi(1)", "y = Vj(1)", "b = Vj(1)", "p = Pm(1)"]
FORMULA = "Exp(-p * SqDist(x, y)) * b"


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    keys = jax.random.split(jax.random.key(0), 3)
    x, new = (jax.random.uniform(key, (POINTS, 1)) for key in keys[:2])
    y, truth = jnp.sin(12 * x) + 0.1 * jax.random.normal(keys[2], (POINTS, 1)), jnp.sin(12 * new)
    predict = cj.Genred(FORMULA, ALIASES, "Sum", axis=1)
    solve = cj.KernelSolve(FORMULA, ALIASES, "b", axis=1)

    @jax.jit
    @jax.value_and_grad
    def loss(log_p: jax.Array) -> jax.Array:
        p = jnp.exp(log_p)
        return jnp.mean((predict(new, x, solve(x, x, y, p, alpha=ALPHA, eps=1e-4), p) - truth) ** 2)

    log_p, steps, curve = jnp.zeros(1), [], []
    with cm.Context(device) as context:
        for _ in range(STEPS):
            value, slope = loss(log_p)
            steps.append((float(log_p[0]), float(value)))
            log_p -= RATE * jnp.sign(slope)  # whatever the size of the slope
        for place in np.linspace(-0.5, 3.5, 33, dtype=np.float32):
            value, slope = loss(jnp.full(1, place))
            curve.append((float(place), float(value), float(slope[0])))
        print(context.device.name)
    print(f"mean squared error {steps[0][1]:.4f} -> {steps[-1][1]:.4f}, p = {float(jnp.exp(log_p[0])):.1f}")
    assert steps[-1][1] < steps[0][1] / 2 and log_p[0] > 0

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
        places, errors, slopes = np.array(curve).T
        axes.plot(places, errors, color="grey", label="error")
        for k in range(0, len(places), 4):
            touching = axes.axline((places[k], errors[k]), slope=slopes[k], color="tab:orange", linewidth=0.7)
        touching.set_label("tangents by the slopes from JAX")
        axes.plot(*np.array(steps).T, "o-", color="tab:blue", markersize=4, label="steps")
        axes.set(xlabel="log p", ylabel="mean squared error", title="The slopes touch the curve; the steps go down it")
        axes.set_ylim(-0.02, 0.42)
        axes.legend()
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
