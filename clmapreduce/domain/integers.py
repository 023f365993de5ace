"""Types of the arrays of integers that domains are made of."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Integers: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.int64]]"
Whole: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.signedinteger[Any]]]"
"""Of 32 or 64 bits."""
