"""
A kernel's width, learnt with PyTorch
=====================================

Kernel ridge regression predicts ``f(x) = k(x)ᵀ (K + α I)⁻¹ y`` with ``k(x, y) = exp(−p |x − y|²)``. The width p is
learnt: the error on new places is differentiated through the prediction and through the solver, and Adam follows the
gradient. The picture shows the prediction before and after, and the error from step to step.
"""

import sys
from importlib.util import find_spec

import numpy as np
import torch

import clmapreduce as cm
import clmapreduce.torch as ct

POINTS, ALPHA, STEPS = 200, 0.05, 25
ALIASES = ["x = Vi(1)", "y = Vj(1)", "b = Vj(1)", "p = Pm(1)"]
FORMULA = "Exp(-p * SqDist(x, y)) * b"


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    torch.manual_seed(0)
    x, new = torch.rand(POINTS, 1), torch.rand(POINTS, 1)
    y, truth = torch.sin(12 * x) + 0.1 * torch.randn(POINTS, 1), torch.sin(12 * new)
    predict = ct.Genred(FORMULA, ALIASES, "Sum", axis=1)
    solve = ct.KernelSolve(FORMULA, ALIASES, "b", axis=1)
    log_p = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.Adam([log_p], lr=0.2)
    losses, predictions = [], []
    with cm.Context(device) as context:
        for _ in range(STEPS):
            optimizer.zero_grad()
            p = log_p.exp()
            predicted = predict(new, x, solve(x, x, y, p, alpha=ALPHA, eps=1e-4), p)
            loss = ((predicted - truth) ** 2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            predictions.append(predicted.detach().numpy()[:, 0])
        print(context.device.name)
    print(f"mean squared error {losses[0]:.4f} -> {losses[-1]:.4f}, p = {log_p.exp().item():.1f}")
    assert losses[-1] < losses[0] / 2 and log_p.item() > 0
    first = torch.exp(-((x - x.T).double() ** 2)) + ALPHA * torch.eye(POINTS, dtype=torch.float64)  # p = 1 at first
    exact = torch.exp(-((new - x.T).double() ** 2)) @ torch.linalg.solve(first, y.double())
    assert np.abs(predictions[0] - exact.numpy()[:, 0]).max() < 1e-3

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", width_ratios=(2, 1))
        places, order = new.numpy()[:, 0], new.numpy()[:, 0].argsort()
        left.scatter(x.numpy(), y.numpy(), s=6, color="grey", label="samples")
        for step, color, label in ((0, "tab:orange", "p = 1"), (-1, "tab:blue", "learnt p")):
            left.plot(places[order], predictions[step][order], color=color, label=label)
        left.plot(places[order], truth.numpy()[order, 0], "--", color="black", label="function")
        left.set(xlabel="x", ylabel="value", title="The learnt width follows the function")
        left.legend()
        right.semilogy(losses, "o-", color="black")
        right.set(xlabel="step of Adam", ylabel="mean squared error", title="The error falls")
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
