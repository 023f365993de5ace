"""
Ranks of a web's pages
======================

A page's rank is what the pages that link to it pass on: ``r = d A r + what is lost``, spread evenly, with the damping
d = 0.85 (Brin and Page 1998). The web of 20,000 pages is generated: a new page copies links of older ones, so that
few pages get most. The matrix holds no numbers, only who passes on to whom; a step is one sparse product and one
fused function. The picture shows that ranks grow faster than the number of links: pages that are linked much are
linked by such pages, and the oldest, darkest ones have most of both.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

PAGES, LINKS, DAMPING = 20_000, 8, 0.85


def web(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(from, to) of all links: a new page links to pages that older links point to, so that few pages get most."""
    source = np.repeat(np.arange(LINKS, PAGES), LINKS)
    target = rng.integers(0, LINKS, len(source))
    for page in range(LINKS + 1, PAGES):
        first = (page - LINKS) * LINKS
        copies = rng.random(LINKS) < 0.7
        older = np.where(copies, target[rng.integers(0, first, LINKS)], rng.integers(0, page, LINKS))
        target[first : first + LINKS] = older
    return source, target


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    source, target = web(np.random.default_rng(0))
    leaving = np.bincount(source, minlength=PAGES).astype(np.float32)
    share = np.divide(DAMPING, leaving, out=np.zeros_like(leaving), where=leaving > 0)
    order = np.argsort(target, kind="stable")
    arriving = np.concatenate([[0], np.cumsum(np.bincount(target, minlength=PAGES))])

    with cm.Context(device) as context:
        # a link only says who passes its rank on, so the matrix holds no numbers
        links = cm.SpmvPlan((arriving, source[order], None))
        pass_on = cm.Map(lambda rank, share: rank * share)

        @cm.fuse
        def settle(inflow, rank):
            loss = (1 - cm.Reduce("sum")(inflow)) / PAGES  # what pages without links, and damping, spread evenly
            return inflow + loss, cm.Reduce("sum")(abs(inflow + loss - rank))

        shares, rank = cm.array(share), cm.array(np.full(PAGES, 1 / PAGES, np.float32))
        change, steps = 1.0, 0
        while change > 1e-6 and steps < 200:
            rank, total_change = settle(links.apply(pass_on(rank, shares)), rank)
            change, steps = float(total_change), steps + 1
        result = rank.to_numpy()

    exact = np.full(PAGES, 1 / PAGES)
    for _ in range(steps):
        inflow = np.bincount(target, exact[source] * share[source], PAGES)
        exact = inflow + (1 - inflow.sum()) / PAGES
    best = np.argsort(-result)[:3]
    print(f"{context.device}\n{links}\n{steps} steps, total {result.sum():.6f}, highest ranks: pages {best.tolist()}")
    assert steps < 200 and np.abs(result - exact).max() < 1e-5 * exact.max()

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        arrived = np.bincount(target, minlength=PAGES)
        figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
        shown = axes.scatter(arrived + 1, PAGES * result, c=np.arange(PAGES) + 1, s=3, cmap="cividis")
        most = arrived.max()
        proportional = PAGES * result.max() * np.array([1 / most, 1])
        axes.plot([1, most], proportional, color="tab:orange", label="proportional")
        axes.set(xlabel="links to a page, and one", ylabel="rank, mean 1", xscale="log", yscale="log")
        axes.set(title="Rank grows faster than the number of links")
        figure.colorbar(shown, label="number of the page: later ones are brighter")
        axes.legend()
        if picture:
            figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
