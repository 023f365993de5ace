"""Ridge regression with a Gaussian kernel in JAX: its width is learnt through the solver and the prediction."""

import sys

import jax
import jax.numpy as jnp

import clmapreduce as cm
import clmapreduce.jax as cj

POINTS, ALPHA, STEPS, RATE = 200, 0.05, 25, 0.3
ALIASES = ["x = Vi(1)", "y = Vj(1)", "b = Vj(1)", "p = Pm(1)"]
FORMULA = "Exp(-p * SqDist(x, y)) * b"


def main(device: str | cm.Device | None = None) -> None:
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

    log_p, losses = jnp.zeros(1), []
    with cm.Context(device) as context:
        for _ in range(STEPS):
            value, slope = loss(log_p)
            log_p -= RATE * jnp.sign(slope)  # whatever the size of the slope
            losses.append(float(value))
        print(context.device.name)
    print(f"mean squared error {losses[0]:.4f} -> {losses[-1]:.4f}, p = {float(jnp.exp(log_p[0])):.1f}")
    assert losses[-1] < losses[0] / 2 and log_p[0] > 0


if __name__ == "__main__":
    main(*sys.argv[1:])
