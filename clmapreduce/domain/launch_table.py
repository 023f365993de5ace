"""Numbers that kernels read beside their arrays."""

from __future__ import annotations

from typing import Any

import numpy as np


class LaunchTable:
    """Whole numbers that every launch leaves as they were; known by identity, so that each is sent to a device once."""

    def __init__(self, values: np.ndarray[Any, Any], narrow: bool) -> None:
        self.values = np.ascontiguousarray(values, np.int32 if narrow else np.int64)

    def __len__(self) -> int:
        """How many rows it has."""
        return len(self.values)
