"""Drawn subscripts of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

import clmapreduce as cm


def drawn_slice(rng: np.random.Generator, length: int) -> slice:
    def end() -> int | None:
        return None if rng.random() < 0.3 else int(rng.integers(-length - 2, length + 3))

    step = int(rng.choice([1, 1, 1, 2, 3, -1, -2]))
    return slice(end(), end(), None if step == 1 and rng.random() < 0.5 else step)


def drawn_key(rng: np.random.Generator, shape: tuple[int, ...], arrays: bool) -> tuple[Any, ...]:
    """A subscript for an array of a shape: slices, integers, new axes, an ellipsis, arrays of places and bools."""
    key: list[Any] = []
    axis, ellipsis = 0, False
    common = (3,) if rng.random() < 0.5 else (2, 3)
    while axis < len(shape):
        length = shape[axis]
        kind = rng.choice(["slice", "slice", "int", "new", "dots", "places", "mask", "stop"])
        if kind == "stop":
            break
        if kind == "new":
            key.append(None)
            continue
        if kind == "dots":
            if not ellipsis:
                key.append(Ellipsis)
                ellipsis = True
                axis = max(axis, len(shape) - int(rng.integers(0, len(shape) + 1 - axis)))
            continue
        if kind == "int" and length:
            key.append(int(rng.integers(-length, length)))
        elif kind == "places" and arrays and length:
            shapes = [common, common[-1:], (1,)]
            key.append(rng.integers(-length, length, shapes[rng.integers(3)]))
        elif kind == "mask" and arrays and not any(isinstance(part, np.ndarray) for part in key):
            mask = rng.random(length) < 0.5
            mask[:] = False
            mask[rng.choice(length, min(length, common[-1]), replace=False)] = True
            key.append(mask if mask.sum() in (1, common[-1]) else slice(None))
        else:
            key.append(drawn_slice(rng, length))
        axis += 1
    return tuple(key)


def on_device(rng: np.random.Generator, key: tuple[Any, ...], context: cm.Context) -> tuple[Any, ...]:
    """The subscript with some of its arrays on the device, or as lists."""
    forms = [lambda a: a, lambda a: cm.array(a, context), lambda a: a.tolist()]
    return tuple(forms[rng.integers(3)](part) if isinstance(part, np.ndarray) else part for part in key)
