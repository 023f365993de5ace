"""Ridge regression with a Gaussian kernel in PyTorch: its width is learnt through the solver and the prediction."""

import sys

import torch

import clmapreduce as cm
import clmapreduce.torch as ct

POINTS, ALPHA, STEPS = 200, 0.05, 25
ALIASES = ["x = Vi(1)", "y = Vj(1)", "b = Vj(1)", "p = Pm(1)"]
FORMULA = "Exp(-p * SqDist(x, y)) * b"


def main(device: str | cm.Device | None = None) -> None:
    torch.manual_seed(0)
    x, new = torch.rand(POINTS, 1), torch.rand(POINTS, 1)
    y, truth = torch.sin(12 * x) + 0.1 * torch.randn(POINTS, 1), torch.sin(12 * new)
    predict = ct.Genred(FORMULA, ALIASES, "Sum", axis=1)
    solve = ct.KernelSolve(FORMULA, ALIASES, "b", axis=1)
    log_p = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.Adam([log_p], lr=0.3)
    losses = []
    with cm.Context(device) as context:
        for _ in range(STEPS):
            optimizer.zero_grad()
            p = log_p.exp()
            loss = ((predict(new, x, solve(x, x, y, p, alpha=ALPHA, eps=1e-4), p) - truth) ** 2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(context.device.name)
    print(f"mean squared error {losses[0]:.4f} -> {losses[-1]:.4f}, p = {log_p.exp().item():.1f}")
    assert losses[-1] < losses[0] / 2 and log_p.item() > 0


if __name__ == "__main__":
    main(*sys.argv[1:])
