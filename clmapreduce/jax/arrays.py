"""JAX arrays as arrays of formulas, and as NumPy arrays that share their memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from clmapreduce.checks import quoted
from clmapreduce.device.array import NumpyArray
from clmapreduce.dtypes import DType
from clmapreduce.errors import DeviceError, DTypeError
from clmapreduce.pairwise.guest import GuestArray


class JaxArray(GuestArray):
    """A JAX array in a formula, or the tracer of one. Views of it are such arrays too, so that JAX follows them.

    source: what the user gave. Views of one source with equal shapes and dtypes are one variable.
    """

    def __init__(self, array: Any, source: Any = None) -> None:
        self.array = array
        self.source = array if source is None else source
        self.shape, self.dtype = tuple(array.shape), np.dtype(array.dtype)
        self.key = (id(self.source), self.shape, self.dtype)

    def reshape(self, shape: tuple[int, ...]) -> JaxArray:
        """The same numbers in another shape."""
        return JaxArray(self.array.reshape(shape), self.source)

    def view(self, dtype: DType | None) -> JaxArray:
        """Complex numbers as alternating real and imaginary parts, or the reverse."""
        x, outer = self.array, self.shape[:-1]
        if jnp.iscomplexobj(x):
            return JaxArray(jnp.stack([x.real, x.imag], -1).reshape(*outer, -1), self.source)
        parts = x.reshape(*outer, -1, 2)
        return JaxArray(jax.lax.complex(parts[..., 0], parts[..., 1]), self.source)

    def __getitem__(self, key: Any) -> JaxArray:
        """As of a NumPy array: the axis before the last may have a slice, a list of indices or a mask."""
        lines, axis = key[-2], len(self.shape) - 2
        return JaxArray(jnp.take(self.array, np.arange(self.shape[axis])[lines], axis=axis))

    def __repr__(self) -> str:
        return f"a JAX array of shape {self.shape}"


def array_of(x: Any) -> Any:
    """A user's array, as formulas hold it; NumPy's become JAX's. Raises DTypeError for those of other libraries."""
    if isinstance(x, jax.Array):
        return JaxArray(x)
    if isinstance(x, np.ndarray):
        if np.dtype(jax.dtypes.canonicalize_dtype(x.dtype)) != x.dtype:
            raise DTypeError(
                f"{quoted(x)}: JAX keeps 32 bits; call jax.config.update('jax_enable_x64', True) first, or pass "
                f"x.astype('{jax.dtypes.canonicalize_dtype(x.dtype)}')"
            )
        return JaxArray(jnp.asarray(x), x)
    if hasattr(x, "shape") and hasattr(x, "dtype") and not isinstance(x, (np.generic, GuestArray)) and is_plain(x):
        raise DTypeError(f"{quoted(x)} of {type(x).__module__} is no JAX array; pass jax.numpy.asarray(x)")
    return x


def is_plain(x: Any) -> bool:
    """Whether `x` is no LazyTensor, which has a shape and a dtype too."""
    return not hasattr(x, "formula")


def is_traced(arrays: Sequence[Any]) -> bool:
    """Whether a transformation of JAX sees the shapes of some arrays, and not their numbers."""
    return any(isinstance(x, jax.core.Tracer) for x in arrays)


def host_view(array: Any) -> NumpyArray:
    """A NumPy array of the array's own memory; of one on another device than the CPU, of a copy."""
    return np.asarray(array)


def arrays_from(results: Sequence[NumpyArray], like: Any) -> tuple[Any, ...]:
    """JAX arrays of NumPy's, on the device of another one. On the CPU they share memory that starts at a multiple of 64
    bytes, else they are copies.
    """
    device = next(iter(like.devices())) if like.committed else None
    return tuple(jax.device_put(result, device) for result in results)


def fitting(result: NumpyArray) -> NumpyArray:
    """A result in a dtype that JAX keeps: indices have 32 bits without jax_enable_x64."""
    return np.asarray(result, jax.dtypes.canonicalize_dtype(result.dtype))


def jax_arrays(arrays: Sequence[Any]) -> list[Any]:
    """The JAX arrays of a call's arrays; numbers join them. Raises DeviceError where they are on several devices."""
    plain = [x.array if isinstance(x, JaxArray) else jnp.asarray(x) for x in arrays]
    devices = {device for x in plain if not is_traced([x]) and x.committed for device in x.devices()}
    if len(devices) > 1:
        each = ", ".join(sorted(map(str, devices)))
        raise DeviceError(f"the arrays of a call are on {each}; move them to one device, jax.device_put(x, device)")
    return plain
