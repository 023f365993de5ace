"""Uses of the library as a type checker sees them: `right` has no error, every line of `wrong` has one."""

from typing import Any

import numpy as np
from typing_extensions import assert_type

import clmapreduce as cm

x: cm.DeviceArray = cm.array(np.ones(3))
host: "np.ndarray[Any, Any]" = np.ones(3)


def right() -> None:
    assert_type(cm.Map(lambda a: a * 2)(x), cm.DeviceArray)
    assert_type(cm.Map("a + b")(x, 2, mode="parallel"), cm.DeviceArray)
    assert_type(cm.Map("a + b")(a=x, b=2), Any)
    assert_type(cm.Reduce("sum")(x, axis=0, keepdims=True), cm.DeviceArray)
    assert_type(cm.Reduce("sum")(host), Any)
    assert_type(cm.Scan("max", exclusive=True)(x), cm.DeviceArray)
    assert_type(cm.segmented_reduce(x, [0, 3], "mean"), cm.DeviceArray)
    assert_type(cm.sort(x, descending=True), cm.DeviceArray)
    assert_type(cm.argsort(x), cm.DeviceArray)
    assert_type(x.sum(axis=0), cm.DeviceArray)
    assert_type(x + 1, cm.DeviceArray)
    for op in (np.add, max, cm.Operator(lambda a, b: a + b, 0)):
        cm.Reduce(op)
    cm.Unfold("index")
    cm.Partials("product")
    cm.reduce_by_key(x, x, "logsumexp")
    cm.spmv((x, x, x), x, add="minimum")


def wrong() -> None:
    cm.Reduce("sun")
    cm.Scan("summ")
    cm.Partials("total")
    cm.Unfold("indices")
    cm.Reduce(3)
    cm.segmented_reduce(x, [0, 3], "meen")
    cm.reduce_by_key(x, x, "counts")
    cm.spmv((x, x, x), x, add="minimal")
    cm.Reduce("sum")(x, axes=0)
    cm.Reduce("sum")(x, accumulate="slow")
    cm.Scan("sum")(x, keepdims=True)
    cm.sort(x, descending="yes")
    cm.Map("a")(x).sumn()
