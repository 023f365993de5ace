"""Values that sequences start from."""

from __future__ import annotations

from typing import Any

import numpy as np

from clmapreduce.checks import numpy_array, quoted
from clmapreduce.dtypes import DType, is_extended
from clmapreduce.errors import DTypeError
from clmapreduce.extended.convert import extended
from clmapreduce.reductions.user import fields


def based(base: Any, dtype: DType | None) -> Any:
    """A base given as a number, or as a tuple of fields, as a NumPy scalar of the dtype.

    Raises DTypeError when it does not fit.
    """
    if dtype is not None and is_extended(dtype):
        return extended(base, dtype)
    if dtype is not None and dtype.names is not None:
        return fields(base, dtype, "the base")
    number = numpy_array(base, "the base")
    target = number.dtype if dtype is None else dtype
    if number.dtype.kind not in "biufc" and dtype is not None:
        raise DTypeError(f"the base {quoted(base)} is no number; use one that {dtype} holds")
    if number.size != 1 or target.names is not None:
        if not np.can_cast(number.dtype, target, "same_kind"):
            raise DTypeError(f"the starts are {number.dtype}, which does not fit {target} without loss")
        return number.astype(target)
    number = number.reshape(())
    if (number.dtype.kind == "c" and target.kind != "c") or (number.dtype.kind == "f" and target.kind in "iub"):
        raise DTypeError(f"the base {base!r} does not fit {target} without loss; use a floating dtype")
    if target.kind in "iu" and not np.iinfo(target).min <= int(number) <= np.iinfo(target).max:
        raise DTypeError(f"the base {base!r} is out of range for {target}")
    return number.astype(target)[()]
