"""The base of schemes with matrix instructions: they are the default only on devices that have these."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from clmapreduce.modes import ComputeMode
from clmapreduce.schemes.common.boxes import Limits
from clmapreduce.schemes.pairs.problem import PairProblem
from clmapreduce.schemes.pairs.scheme import GROUPS, B, PairScheme

MATRIX_LIMITS: Limits = {"block": (64, 256), "blocks": (1, 4), "share": (0, 16), **GROUPS}
"""Of boxes of few numbers a vector."""


MANY_ROWS = 65536
"""Rows from which on it counts what is prepared for each of them."""


class MatrixScheme(PairScheme[B]):
    """Where the device has no matrix units, kernels compute the same by other instructions, slowly: for tests."""

    @property
    def long_form(self) -> PairProblem:
        """The problem with its vector as a long one, where there are two ways to take it."""
        return self.layout.wide or self.layout

    @property
    def short_form(self) -> PairProblem:
        """The problem with the terms of sums that are else walked, where they are few enough."""
        return self.layout.shortened

    def meets_few(self, columns: int) -> bool:
        """Whether many rows meet fewer columns than so many."""
        domain = self.domain
        return not domain.scattered and domain.rows * domain.batch >= MANY_ROWS and domain.columns < columns

    @property
    @abstractmethod
    def pays(self) -> bool:
        """Whether the scheme, where it suits, is faster than the later ones."""

    @property
    @abstractmethod
    def box(self) -> B | None:
        """The box for the problem, on a device with matrix units; None where the scheme does not suit."""

    def default(self) -> B | None:
        if not self.facts.matrix_units or self.mode is ComputeMode.SEQUENTIAL or not self.domain.columns:
            return None
        if self.layout.pair.has_tables:  # what they pack is made of arrays that are read in order
            return None
        return self.box if self.pays else None

    def starts(self) -> Sequence[B]:
        box = None if self.layout.pair.has_tables else self.box
        return () if box is None else (box,)
