"""A function of real or of complex numbers, as the arguments are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clmapreduce.calls.options import Options
from clmapreduce.errors import DTypeError
from clmapreduce.series.functions.call import real_values
from clmapreduce.series.functions.catalogue import COMPLEX
from clmapreduce.series.functions.complex_call import complex_values


def evaluated(name: str, values: Sequence[Any], digits: Any, dtype: Any, options: Options) -> Any:
    """A function of the catalogue at every point of its broadcast arguments.

    Raises DTypeError for complex arguments of a function that takes none, and all that `real_values` and
    `complex_values` raise.
    """
    if not any(map(_is_complex, values)):
        return real_values(name, values, digits, dtype, options)
    if name not in COMPLEX:
        raise DTypeError(f"cm.series.{name} takes real numbers; complex ones are for {', '.join(COMPLEX)}")
    return complex_values(name, values, digits, dtype, options)


def _is_complex(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_is_complex, value))
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    return isinstance(value, complex) or kind == "c" or (kind == "O" and any(map(_is_complex, np.ravel(value))))
