"""scikit-learn's own checks of estimators."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("sklearn")

from sklearn.utils.estimator_checks import parametrize_with_checks

from clmapreduce.sklearn import GaussianProcessRegressor, KernelDensity, KernelRidge, NearestNeighbors

ESTIMATORS = [KernelRidge(), KernelRidge(kernel="rbf"), KernelDensity(), NearestNeighbors(), GaussianProcessRegressor()]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)
