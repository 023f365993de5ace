"""The interface to a library of tensors, so that gradients of reductions are written once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

from clmapreduce.gradients.job import Job

Tensors: TypeAlias = "Sequence[Any]"
Results: TypeAlias = "tuple[Any, ...]"


class Framework(ABC):
    """A library whose tensors have gradients. Everything here but `constants` is followed by it."""

    @abstractmethod
    def run(self, job: Job, tensors: Tensors) -> Results:
        """The results of a job whose reduction has a rule, with gradients where tensors ask for them."""

    @abstractmethod
    def constants(self, job: Job, tensors: Tensors) -> Results:
        """The results of a job, without gradients."""

    @abstractmethod
    def where(self, mask: Any, chosen: Any, other: Any) -> Any:
        """`chosen` where a mask is true, `other` elsewhere."""

    @abstractmethod
    def clamped(self, places: Any, last: int) -> Any:
        """Indices, brought into 0 … last."""

    @abstractmethod
    def root(self, values: Any) -> Any:
        """Square roots."""

    @abstractmethod
    def split(self, tensor: Any, dims: Sequence[int]) -> Sequence[Any]:
        """Parts of the last axis, of these lengths."""

    @abstractmethod
    def fitted(self, values: Any, shape: tuple[int, ...]) -> Any:
        """Values summed over the axes that `shape` does not have, or has with length 1: the way back of a broadcast."""

    @abstractmethod
    def spread(self, values: Any, shape: tuple[int, ...]) -> Any:
        """Values broadcast to a shape."""

    @abstractmethod
    def gathered(self, tensor: Any, places: Any) -> Any:
        """A tensor's lines at these places: (.., N, d) at (.., K, M) gives (.., K, M, d)."""

    @abstractmethod
    def stacked(self, coordinates: Sequence[Any]) -> Any:
        """Coordinates (.., K, M) side by side: (.., M, K, D)."""
