"""Tensors as arrays of formulas, and as NumPy arrays that share their memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from clmapreduce.checks import quoted
from clmapreduce.dtypes import DType, is_bfloat16
from clmapreduce.errors import DeviceError, DTypeError
from clmapreduce.pairwise.guest import GuestArray


class TensorArray(GuestArray):
    """A tensor in a formula. Views of it are tensors too, so that PyTorch follows them.

    source: the user's tensor. Views of one source with equal shapes and strides are one variable; a tensor and its
    `detach()` are two.
    """

    def __init__(self, tensor: Any, source: Any = None) -> None:
        if tensor.layout is not torch.strided:
            raise DTypeError(f"a tensor of layout {tensor.layout} cannot be read in place; pass x.to_dense()")
        self.tensor = tensor
        self.source = tensor if source is None else source
        self.shape = tuple(tensor.shape)
        self.dtype = numpy_dtype(tensor.dtype)
        self.key = (id(self.source), tensor.storage_offset(), self.shape, tensor.stride(), self.dtype)

    def reshape(self, shape: tuple[int, ...]) -> TensorArray:
        """The same numbers in another shape."""
        return TensorArray(self.tensor.reshape(shape), self.source)

    def view(self, dtype: DType | None) -> TensorArray:
        """Complex numbers as alternating real and imaginary parts, or the reverse."""
        if self.tensor.is_complex():
            return TensorArray(torch.view_as_real(self.tensor.resolve_conj()).flatten(-2), self.source)
        return TensorArray(torch.view_as_complex(self.tensor.unflatten(-1, (-1, 2)).contiguous()), self.source)

    def __getitem__(self, key: Any) -> TensorArray:
        """As of a NumPy array: the axis before the last may have a slice, a list of indices or a mask."""
        lines, place = key[-2], len(self.shape) - 2
        places = torch.from_numpy(np.arange(self.shape[place])[lines]).to(self.tensor.device)
        return TensorArray(self.tensor.index_select(place, places))

    def __repr__(self) -> str:
        return f"a tensor of shape {self.shape}"


def array_of(x: Any) -> Any:
    """A user's tensor, as formulas hold it. Raises DTypeError for arrays of NumPy and other libraries."""
    if isinstance(x, torch.Tensor):
        return TensorArray(x)
    if hasattr(x, "shape") and hasattr(x, "dtype") and not isinstance(x, (np.generic, GuestArray)) and is_plain(x):
        raise DTypeError(f"{quoted(x)} is no tensor; pass torch.from_numpy(x) for a NumPy array")
    return x


def is_plain(x: Any) -> bool:
    """Whether `x` is no LazyTensor, which has a shape and a dtype too."""
    return not hasattr(x, "formula")


def numpy_dtype(dtype: Any) -> DType:
    """NumPy's dtype of these numbers. Raises DTypeError where it has none."""
    if dtype is torch.bfloat16:
        try:
            import ml_dtypes
        except ImportError:
            raise DTypeError("bfloat16 needs the package ml_dtypes; install it, or pass x.float()") from None
        bfloat16: DType = np.dtype(ml_dtypes.bfloat16)
        return bfloat16
    try:
        return np.dtype(str(dtype).removeprefix("torch."))
    except TypeError:
        raise DTypeError(f"{dtype} is none of NumPy's dtypes; pass x.float()") from None


def is_followed(tensor: Any) -> bool:
    """Whether PyTorch differentiates by a tensor now, backward or forward."""
    backward = torch.is_grad_enabled() and tensor.requires_grad
    return backward or torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None


def host_view(tensor: Any) -> np.ndarray[Any, Any]:
    """A NumPy array of the tensor's own memory; of one on another device, of a copy of it, pinned for CUDA."""
    tensor = tensor.detach()
    if tensor.device.type == "cuda":
        pinned = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        tensor = pinned.copy_(tensor)
    tensor = tensor.cpu().resolve_neg()
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(numpy_dtype(tensor.dtype))  # type: ignore[no-any-return]
    return tensor.numpy()  # type: ignore[no-any-return]


def tensor_from(values: np.ndarray[Any, Any], device: Any) -> Any:
    """A tensor of the array's own memory, on `device`: elsewhere than on the CPU it is a copy."""
    if is_bfloat16(values.dtype):
        return torch.from_numpy(values.view(np.int16)).view(torch.bfloat16).to(device)
    return torch.from_numpy(values).to(device)


def tensors_of(arrays: Sequence[Any]) -> list[Any]:
    """The tensors of a call's arrays, all on one device; numbers join them. Raises DeviceError."""
    tensors = [x.tensor for x in arrays if isinstance(x, TensorArray)]
    devices = {tensor.device for tensor in tensors}
    if len(devices) > 1:
        each = ", ".join(sorted(map(str, devices)))
        raise DeviceError(f"the tensors of a call are on {each}; move them to one device")
    device = devices.pop() if devices else torch.device("cpu")
    return [x.tensor if isinstance(x, TensorArray) else tensor_from(np.ascontiguousarray(x), device) for x in arrays]
