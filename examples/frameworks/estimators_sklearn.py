"""
Estimators in scikit-learn's pipelines
======================================

``clmapreduce.sklearn`` has ridge regression with kernels, neighbours, densities and Gaussian processes under
scikit-learn's names, so that its pipelines and searches take them. Noisy values of ``sin(x) cos(y)`` at random places
are fitted. The picture shows what each of the four estimators says of the plane: where samples are rare, the process
is unsure, neighbours are far and the density is low.
"""

import sys
from importlib.util import find_spec

import numpy as np
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import clmapreduce as cm
from clmapreduce.sklearn import GaussianProcessRegressor, KernelDensity, KernelRidge, NearestNeighbors

POINTS, SIDE = 600, 60


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(0, 1.3, (POINTS, 2)).clip(-3, 3).astype(np.float32)
    truth = np.sin(X[:, 0]) * np.cos(X[:, 1])
    y = truth + 0.1 * rng.standard_normal(POINTS).astype(np.float32)
    train, test = slice(0, POINTS // 2), slice(POINTS // 2, None)
    line = np.linspace(-3, 3, SIDE, dtype=np.float32)
    plane = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    with cm.Context(device) as context:
        steps = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf", alpha=0.1))
        search = GridSearchCV(steps, {"kernelridge__gamma": [0.01, 0.1, 1.0, 10.0]}, cv=3).fit(X[train], y[train])
        process = GaussianProcessRegressor(RBF(1.0) + WhiteKernel(0.1), random_state=0).fit(X[train], y[train])
        mean, deviation = process.predict(X[test], return_std=True)
        distances, _ = NearestNeighbors(n_neighbors=5).fit(X[train]).kneighbors(plane)
        density = KernelDensity(bandwidth="scott").fit(X[train]).score_samples(plane)
        maps = [search.predict(plane), process.predict(plane, return_std=True)[1], distances[:, 4], density]
        print(context.device.name)
    errors = [float(np.sqrt(np.mean((values - truth[test]) ** 2))) for values in (search.predict(X[test]), mean)]
    inside = float(np.mean(np.abs(mean - y[test]) < 2 * deviation))
    print(f"kernel ridge with gamma = {search.best_params_['kernelridge__gamma']}: error {errors[0]:.3f}")
    print(f"{process.kernel_}: error {errors[1]:.3f}, {inside:.0%} within two deviations")
    assert max(errors) < 0.15 and 0.9 < inside < 1 and np.corrcoef(distances[:, 4], density)[0, 1] < -0.8

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(2, 2, figsize=(9, 7.5), layout="constrained", sharex=True, sharey=True)
        titles = ("Ridge: values", "Gaussian process: deviation", "Fifth neighbour: distance", "Density: logarithm")
        for axis, values, title in zip(axes.flat, maps, titles, strict=True):
            shown = axis.pcolormesh(line, line, values.reshape(SIDE, SIDE), cmap="viridis", shading="gouraud")
            axis.plot(*X[train].T, ".", color="white", markersize=2)
            axis.set(title=title, aspect="equal", xlabel="x", ylabel="y")
            figure.colorbar(shown, ax=axis)
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
