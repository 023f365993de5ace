"""
Who matters in a karate club?
=============================

The friendships in a karate club were noted before it split in two: 34 members, 78 pairs (Zachary 1977, An information
flow model for conflict and fission in small groups). PageRank is the share of time that a walk spends at each member
which follows a random friendship with probability 0.85 and else starts anew anywhere. It is computed by products with
a sparse matrix that has no numbers, only the places of links. In the picture, areas are ranks: the two leaders of
the later clubs, 1 (the instructor) and 34 (the officer), stand out.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

LOWER = {
    2: "1", 3: "1 2", 4: "1 2 3", 5: "1", 6: "1", 7: "1 5 6", 8: "1 2 3 4", 9: "1 3", 10: "3", 11: "1 5 6", 12: "1",
    13: "1 4", 14: "1 2 3 4", 17: "6 7", 18: "1 2", 20: "1 2", 22: "1 2", 26: "24 25", 28: "3 24 25", 29: "3",
    30: "24 27", 31: "2 9", 32: "1 25 26 29", 33: "3 9 15 16 19 21 23 24 30 31 32",
    34: "9 10 14 15 16 19 20 21 23 24 27 28 29 30 31 32 33",
}  # fmt: skip
"""The friends of each member that come before."""

MEMBERS, DAMPING = 34, 0.85


def layout(friends: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Places (MEMBERS, 2): all push each other away, friends pull (Fruchterman and Reingold 1991)."""
    places = rng.standard_normal((MEMBERS, 2))
    for heat in np.linspace(0.3, 0.01, 300):
        way = places[:, None] - places
        far = np.linalg.norm(way, axis=-1, keepdims=True) + 1e-9
        force = (way / far * (0.12 / far - friends[..., None] * far**2)).sum(1)
        places += force / np.linalg.norm(force, axis=1, keepdims=True) * heat
    return places


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    pairs = np.array([(i - 1, int(j) - 1) for i, others in LOWER.items() for j in others.split()])
    both = np.concatenate([pairs, pairs[:, ::-1]])
    both = both[np.lexsort(both.T[::-1])]
    degree = np.bincount(both[:, 0])
    arriving = np.concatenate([[0], np.cumsum(degree)])
    with cm.Context(device) as context:
        friendships = cm.SpmvPlan((arriving, both[:, 1], None))
        rank, share = cm.full(MEMBERS, 1 / MEMBERS), cm.array(DAMPING / degree)
        for _ in range(120):
            rank = friendships.apply(rank * share) + (1 - DAMPING) / MEMBERS
        rank = rank.to_numpy()

    friends = np.zeros((MEMBERS, MEMBERS))
    friends[tuple(both.T)] = 1
    exact = np.linalg.solve(np.eye(MEMBERS) - DAMPING * friends / degree, np.full(MEMBERS, (1 - DAMPING) / MEMBERS))
    best = np.argsort(-rank)[:3] + 1
    print(f"{context.device}\n{len(pairs)} friendships; members {best.tolist()} have ranks {rank[best - 1].round(4)}")
    assert np.abs(rank - exact).max() < 1e-6 and best[:2].tolist() == [34, 1] and len(pairs) == 78

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        places = layout(friends, np.random.default_rng(3))
        figure, axes = plt.subplots(figsize=(7, 6), layout="constrained")
        axes.plot(*places[pairs].transpose(2, 1, 0), color="lightgrey", linewidth=1, zorder=0)
        shown = axes.scatter(*places.T, s=15_000 * rank, c=rank, cmap="cividis_r", edgecolors="grey")
        for member, place in enumerate(places):
            color = "white" if rank[member] > 0.05 else "black"
            axes.annotate(member + 1, place, ha="center", va="center", color=color)
        figure.colorbar(shown, label="PageRank")
        axes.set(title="Members 1 and 34 rank highest: the club split between them", xticks=[], yticks=[])
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
