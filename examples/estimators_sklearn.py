"""scikit-learn's pipelines and searches around this library's estimators: regression, neighbours, densities."""

import sys

import numpy as np
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import clmapreduce as cm
from clmapreduce.sklearn import GaussianProcessRegressor, KernelDensity, KernelRidge, NearestNeighbors

POINTS = 600


def main(device: str | cm.Device | None = None) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (POINTS, 2)).astype(np.float32)
    truth = np.sin(X[:, 0]) * np.cos(X[:, 1])
    y = truth + 0.1 * rng.standard_normal(POINTS).astype(np.float32)
    train, test = slice(0, POINTS // 2), slice(POINTS // 2, None)
    with cm.Context(device) as context:
        steps = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf", alpha=0.1))
        search = GridSearchCV(steps, {"kernelridge__gamma": [0.01, 0.1, 1.0, 10.0]}, cv=3).fit(X[train], y[train])
        process = GaussianProcessRegressor(RBF(1.0) + WhiteKernel(0.1), random_state=0).fit(X[train], y[train])
        mean, deviation = process.predict(X[test], return_std=True)
        distances, _ = NearestNeighbors(n_neighbors=2).fit(X).kneighbors()
        density = KernelDensity(bandwidth="scott").fit(X).score_samples([[0.0, 0.0], [9.0, 9.0]])
        print(context.device.name)
    errors = [float(np.sqrt(np.mean((values - truth[test]) ** 2))) for values in (search.predict(X[test]), mean)]
    inside = float(np.mean(np.abs(mean - y[test]) < 2 * deviation))
    print(f"kernel ridge with gamma = {search.best_params_['kernelridge__gamma']}: error {errors[0]:.3f}")
    print(f"{process.kernel_}: error {errors[1]:.3f}, {inside:.0%} within two deviations")
    print(f"distance to the second neighbour {distances[:, 1].mean():.3f}; log densities {density.round(1)}")
    assert max(errors) < 0.1 and 0.9 < inside < 1 and density[0] > density[1]


if __name__ == "__main__":
    main(*sys.argv[1:])
