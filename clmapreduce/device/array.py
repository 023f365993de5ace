"""Arrays that live on a device, and the way in and out of device memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

import hostsched
from clmapreduce.checks import dtype_of, is_whole, quoted, repeats
from clmapreduce.device.array_methods import ArrayMethods
from clmapreduce.device.awaited import Awaited
from clmapreduce.device.context import Context, is_empty
from clmapreduce.device.exchange.exports import Exports
from clmapreduce.device.runtime import take, translated
from clmapreduce.dtypes import DType, aligned, check_stored, dtype_name, is_extended
from clmapreduce.errors import ArgumentError, DeviceMemoryError, DTypeError, ModeError, ShapeError
from clmapreduce.host_room import refuse_oversized, refuse_result
from clmapreduce.no_arithmetic import without_arithmetic
from clmapreduce.notebook import facts

NumpyArray: TypeAlias = "np.ndarray[Any, Any]"
PAGE = 4096
LONG = 1 << 20
"""Bytes from which on copies go through more pinned memory than `read_back` has."""


@without_arithmetic("sums of products are cm.Map(lambda a, b: a * b) >> cm.Reduce('sum'); to_numpy() gives an array")
class DeviceArray(ArrayMethods, Awaited, Exports):
    """A C-contiguous array in device memory. `shape`, `dtype`, `event` (the OpenCL event of its last write, or None).

    `cm.array` and operations on DeviceArrays make it. Nothing waits before its values are read (`to_numpy`,
    `np.asarray`, `float`, printing). `memory`: its buffer. `first`: the index of its first element in that buffer, 0
    except for a `Part`.
    """

    __slots__ = ("__weakref__", "context", "dtype", "first", "memory", "shape")
    __array_priority__ = 100

    def __init__(self, context: Context, memory: hostsched.Buffer, shape: tuple[int, ...], dtype: DType) -> None:
        self.context, self.memory, self.shape, self.dtype, self.first = context, memory, shape, dtype, 0

    def __del__(self) -> None:
        self.context.queue.arena.give(self.memory)  # a weakref.finalize costs every result 2 microseconds

    @property
    def buffer(self) -> hostsched.Buffer:
        """Memory that begins with the first element, to be read: for calls that take no place to begin at."""
        return self.memory

    @property
    def is_plain(self) -> bool:
        """Whether it is all that lies in its memory, from the first byte on."""
        return True

    @property
    def begin(self) -> int:
        """The byte of its memory with which it begins."""
        return self.first * self.dtype.itemsize

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return _size(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def device(self) -> hostsched.Device:
        """The device whose memory holds it; of an array in pieces the first one."""
        return self.context.device

    @property
    def event(self) -> Any:
        return self.memory.last_write

    def to_numpy(self, out: NumpyArray | None = None) -> NumpyArray:
        """The values as a NumPy array (a copy); waits for what computes them and lets Ctrl-C through.

        out: a writable array of the same shape and dtype, in any layout, to hold them. Raises ShapeError or DTypeError
        when it does not fit.
        """
        if out is not None:
            self._check_fits(out)
        direct = out is not None and out.flags.c_contiguous
        target = out if direct and out is not None else np.empty(self.shape, self.dtype)
        if self.size:
            with translated():
                target_bytes = target.reshape(-1).view(np.uint8)
                copy = hostsched.copy_to_host if self.nbytes >= LONG else hostsched.read_back
                copy(self.context.queue, self.memory, target_bytes, self.begin)
        if out is None or direct:
            return target
        out[...] = target
        return out

    def reshape(self, *shape: Any) -> DeviceArray:
        """The same memory in another shape, given as a tuple or as integers, of which one may be -1: what is left.
        Raises ShapeError where sizes differ.
        """
        sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        if not all(is_whole(extent) and extent >= -1 for extent in sizes) or sizes.count(-1) > 1:
            raise ShapeError(f"{quoted(sizes)} is no shape; give whole numbers, one of which may be -1")
        extent_product = -_size(sizes) if -1 in sizes else 0
        new_shape = tuple(int(extent) if extent >= 0 else self.size // max(1, extent_product) for extent in sizes)
        if _size(new_shape) != self.size:
            raise ShapeError(f"an array of shape {self.shape} has no shape {quoted(sizes)}; both need as many elements")
        return Part(self, new_shape, self.dtype)

    def view(self, dtype: Any) -> DeviceArray:
        """The same memory as numbers of another dtype along the last axis. Raises ShapeError where they do not fit,
        DTypeError for dtypes that no kernel can hold.
        """
        new_dtype = dtype_of(dtype)
        if check_stored(new_dtype, "the view") != new_dtype or aligned(new_dtype) != new_dtype:
            raise DTypeError(f"{new_dtype} is in another byte order than the device's, or fields are not aligned")
        nbytes = self.shape[-1] * self.dtype.itemsize if self.shape else 0
        if not self.shape or nbytes % new_dtype.itemsize or self.begin % new_dtype.itemsize:
            raise ShapeError(f"an array of shape {self.shape} and dtype {self.dtype} cannot be seen as {new_dtype}")
        return Part(self, (*self.shape[:-1], nbytes // new_dtype.itemsize), new_dtype, self.begin // new_dtype.itemsize)

    def __copy__(self) -> DeviceArray:
        copy = empty(self.shape, self.dtype, self.context)
        if self.size:
            with translated():
                copied = hostsched.CopyJob(self.memory, copy.memory, self.nbytes, source_offset=self.begin)
                hostsched.JobGraph([copied]).submit(self.context.queue)
        return copy

    def __deepcopy__(self, _memo: Any) -> DeviceArray:
        return self.__copy__()

    def __reduce__(self) -> Any:
        raise ArgumentError("a DeviceArray belongs to its context and is not pickled; pickle x.to_numpy()")

    def _check_fits(self, out: NumpyArray) -> None:
        if not isinstance(out, np.ndarray):
            raise DTypeError(f"out is {type(out).__name__}; pass a NumPy array")
        if out.shape != self.shape or not out.flags.writeable:
            kind = "an" if out.flags.writeable else "a read-only"
            raise ShapeError(f"out is {kind} array of shape {out.shape}; pass a writable one of shape {self.shape}")
        if repeats(out.shape, out.strides, out.itemsize):
            raise ShapeError("out has elements that share their memory; pass an array of its own, such as out.copy()")
        if out.dtype != self.dtype:
            raise DTypeError(f"out has dtype {out.dtype}, the values have {self.dtype}")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NumpyArray:
        shared = self.host_view() if copy is False else None
        if shared is not None and dtype in (None, self.dtype):
            return shared
        if copy is False:
            raise ModeError("this DeviceArray cannot become a NumPy array without a copy")
        values = self.to_numpy()
        return values if dtype is None else values.astype(dtype, copy=False)

    def __len__(self) -> int:
        if not self.shape:
            raise ArgumentError("a 0-d DeviceArray has no len(); float() gives its value")
        return self.shape[0]

    def __iter__(self) -> Iterator[DeviceArray]:
        if not self.shape:
            raise ArgumentError("a 0-d DeviceArray cannot be iterated; float() gives its value")
        return (self[place] for place in range(self.shape[0]))

    def __float__(self) -> float:
        return float(self._single("float"))

    def __int__(self) -> int:
        return int(self._single("int"))

    def __index__(self) -> int:
        if self.shape or self.dtype.kind not in "iu":
            raise DTypeError(f"an array of shape {self.shape} and dtype {self.dtype} is no index; int() gives a number")
        return int(self._single("index"))

    def __bool__(self) -> bool:
        return bool(self._single("bool"))

    def __complex__(self) -> complex:
        return complex(self._single("complex"))

    def _single(self, kind: str) -> Any:
        """The value of an array that holds one number. Raises ShapeError or DTypeError for others."""
        if self.size != 1:
            raise ShapeError(f"an array of shape {self.shape} is no {kind}; to_numpy() gives all of its values")
        plain = self.dtype.names is None or (is_extended(self.dtype) and kind in ("float", "int"))
        if not plain or (self.dtype.kind == "c" and kind in ("float", "int")):
            raise DTypeError(f"a value of dtype {dtype_name(self.dtype)} is no {kind}; to_numpy() gives it as it is")
        value = self.to_numpy().reshape(())[()]
        if kind == "int" and not np.isfinite(float(value)):
            raise DTypeError(f"{value} is no int; to_numpy() gives it as it is")
        return value

    def item(self, *place: int) -> Any:
        """The only value, or the one at a place (an index into all elements, or one index per axis), as a Python
        number. Waits for it alone to be copied. Raises ShapeError where there are several values and no place is named,
        and PlaceError for one outside of the array.
        """
        if not place:
            return self._single("number").item()
        return (self.ravel()[place] if len(place) == 1 else self[place]).item()

    def tolist(self) -> Any:
        """The values as nested lists of Python numbers; a 0-d array's as one."""
        return self.to_numpy().tolist()

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        if self.shape:
            raise ArgumentError(f"the format {spec!r} is for one number; to_numpy() gives the values of {self.shape}")
        return format(self.to_numpy()[()], spec)

    def __str__(self) -> str:
        return self._shown if is_extended(self.dtype) else str(self.to_numpy())

    def __repr__(self) -> str:
        return f"DeviceArray({self._shown}, dtype={dtype_name(self.dtype)}, device={self.context.device.name!r})"

    def _repr_html_(self) -> str:
        """What a notebook shows: values, as printed, and where they are. Waits for them."""
        rows = {"values": self._shown, "shape": self.shape, "dtype": dtype_name(self.dtype), "device": self._place}
        return facts(DeviceArray.__name__, {**rows, "bytes": f"{self.nbytes:,}"})

    @property
    def _shown(self) -> str:
        values = self.to_numpy()
        if not is_extended(self.dtype):
            return np.array2string(values, threshold=8)
        if not self.shape:
            return str(values[()])
        line, places = values.reshape(-1), np.arange(values.size).reshape(values.shape)
        return np.array2string(places, threshold=8, formatter={"int": lambda place: str(line[place])})

    @property
    def _place(self) -> str:
        """The device, in words."""
        return self.context.device.name


class Part(DeviceArray):
    """A DeviceArray in the memory of another one, which it keeps alive: all of it in another shape or dtype, or a range
    of its elements. first: the element of the memory with which it begins, as the base if None.
    """

    __slots__ = ("_apart", "_base")

    def __init__(self, base: DeviceArray, shape: tuple[int, ...], dtype: DType, first: int | None = None) -> None:
        super().__init__(base.context, base.memory, shape, dtype)
        self.first = base.first if first is None else first
        self._base: DeviceArray = base._base if isinstance(base, Part) else base
        self._apart: tuple[Any, DeviceArray] | None = None

    @property
    def is_plain(self) -> bool:
        return False

    @property
    def buffer(self) -> hostsched.Buffer:
        """As of any array; where it begins further on, of a copy. That is made again once the memory was written."""
        if not self.first:
            return self.memory
        if self._apart is None or self._apart[0] is not self.event:
            self._apart = self.event, self.__copy__()
        return self._apart[1].memory

    def __del__(self) -> None:
        """The memory goes back with the base."""


def is_plain(x: Any) -> bool:
    """Whether `x` is a DeviceArray, and all that lies in its memory, from the first byte on."""
    return isinstance(x, DeviceArray) and x.is_plain


def upload(values: NumpyArray, context: Context) -> DeviceArray:
    """A copy of `values` on the device; waits until it has left host memory."""
    flat = contiguous(values)
    target = empty(flat.shape, flat.dtype, context)
    if flat.size:
        write(target, flat)
    return target


def write(target: DeviceArray, values: NumpyArray) -> None:
    """Copies `values` (same shape and dtype) into a DeviceArray; waits until they have left host memory."""
    flat = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    with translated():
        hostsched.copy_to_device(target.context.queue, target.memory, flat, target.begin)


def await_events(context: Context, wait_for: Sequence[Any]) -> None:
    """Waits for `wait_for` of a call in which the host reads an array before anything is launched."""
    if not is_empty(wait_for):
        with translated():
            hostsched.JobGraph([]).submit(context.queue, wait_for).wait()


def element(x: DeviceArray, place: int) -> Any:
    """One element of a DeviceArray in C order; waits for it alone to be copied. Negative places count from the end."""
    target = np.empty((), x.dtype)
    place += x.size if place < 0 else 0
    with translated():
        begin = x.begin + place * x.dtype.itemsize
        hostsched.read_back(x.context.queue, x.memory, target.reshape(-1).view(np.uint8), begin)
    return target[()]


def contiguous(values: NumpyArray) -> NumpyArray:
    """`values` in C order, records packed so that every field is aligned. Raises DeviceMemoryError where the host has
    no room for that (see refuse_oversized).
    """
    refuse_oversized(values, "the array")
    if values.dtype.names is not None:
        values = values.astype(aligned(values.dtype), copy=False)
    return np.ascontiguousarray(values).reshape(values.shape)


def empty(shape: tuple[int, ...], dtype: DType, context: Context) -> DeviceArray:
    """A DeviceArray with undefined contents. Raises DeviceMemoryError when there is no room."""
    with translated():
        buffer = take(context.queue, _size(shape) * dtype.itemsize)
    return DeviceArray(context, buffer, shape, dtype)


def aligned_empty(shape: tuple[int, ...], dtype: DType) -> NumpyArray:
    """A NumPy array with undefined contents that starts on a page, so that devices sharing host memory write it in
    place and past the caches.
    """
    nbytes = _size(shape) * dtype.itemsize
    refuse_result(nbytes)
    try:
        raw = np.empty(nbytes + PAGE, np.uint8)
    except (MemoryError, ValueError):  # ValueError: more than an address can count
        raise DeviceMemoryError(f"the host has no {nbytes} bytes for a result; work on smaller pieces") from None
    start = -raw.ctypes.data % PAGE
    return raw[start : start + nbytes].view(dtype).reshape(shape)


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for extent in shape:
        size *= extent
    return size
