"""Estimators of scikit-learn whose kernels and distances are never stored.

Nothing else imports this package, so that clmapreduce does without scikit-learn: `from clmapreduce.sklearn import …`.
"""

from clmapreduce.sklearn.density import KernelDensity
from clmapreduce.sklearn.gaussian_process import GaussianProcessRegressor
from clmapreduce.sklearn.kernel_ridge import KernelRidge
from clmapreduce.sklearn.neighbors import NearestNeighbors

__all__ = ["GaussianProcessRegressor", "KernelDensity", "KernelRidge", "NearestNeighbors"]
