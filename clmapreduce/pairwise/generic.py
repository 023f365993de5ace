"""KeOps' four shorthands for Genred: the declared output says over which index they reduce."""

from __future__ import annotations

import inspect
import re
from typing import Any, Generic, TypeVar

from clmapreduce.checks import quoted
from clmapreduce.errors import ArgumentError, FormulaError
from clmapreduce.pairwise.genred import Genred

G = TypeVar("G", bound=Genred)
KEYWORDS = tuple(inspect.signature(Genred).parameters)[4:]
"""The keywords of Genred that an output and the name of a shorthand do not set."""
_OUTPUT = re.compile(r"\s*(?:[A-Za-z_]\w*\s*=\s*)?(Vi|Vj)\s*\(\s*(?:\d+\s*,\s*)?(\d+)\s*\)\s*")


class Shorthands(Generic[G]):
    """The four shorthands of one class of Genreds. kind: that class."""

    def __init__(self, kind: type[G]) -> None:
        self.kind = kind

    def generic_sum(self, formula: str, output: str, *aliases: str, **kwargs: Any) -> G:
        """The sum of a formula: over j for an output such as "a = Vi(2)", over i for "a = Vj(2)".

        Keywords are Genred's. Raises FormulaError for any other output, ArgumentError for an unknown keyword.
        """
        return self._reduction("Sum", formula, output, aliases, kwargs)

    def generic_logsumexp(self, formula: str, output: str, *aliases: str, **kwargs: Any) -> G:
        """The logarithm of the sum of exponentials of a scalar formula. All else is as for `generic_sum`."""
        return self._reduction("LogSumExp", formula, output, aliases, kwargs)

    def generic_argmin(self, formula: str, output: str, *aliases: str, **kwargs: Any) -> G:
        """The index of the smallest value of a scalar formula. All else is as for `generic_sum`."""
        return self._reduction("ArgMin", formula, output, aliases, kwargs)

    def generic_argkmin(self, formula: str, output: str, *aliases: str, **kwargs: Any) -> G:
        """The indices of the K smallest values of a scalar formula, for an output such as "a = Vi(K)". All else is as
        for `generic_sum`.
        """
        return self._reduction("ArgKMin", formula, output, aliases, kwargs)

    def _reduction(
        self, reduction: str, formula: str, output: str, aliases: tuple[str, ...], kwargs: dict[str, Any]
    ) -> G:
        """The Genred that `output` declares. For ArgKMin the declared dimension is K."""
        axis, count = _declared(output)
        if reduction == "ArgKMin":
            kwargs = {"opt_arg": count, **kwargs}
        unknown = [name for name in kwargs if name not in KEYWORDS]
        if unknown:
            raise ArgumentError(f"unknown keyword(s) {', '.join(unknown)}; the keywords are {', '.join(KEYWORDS)}")
        return self.kind(formula, aliases, reduction_op=reduction, axis=axis, **kwargs)


def _declared(output: str) -> tuple[int, int]:
    """(axis that is reduced, dimension) of a declared output."""
    match = _OUTPUT.fullmatch(output) if isinstance(output, str) else None
    if match is None:
        raise FormulaError(f"the output {quoted(output)} must be declared as 'a = Vi(dim)' or 'a = Vj(dim)'")
    return 1 if match[1] == "Vi" else 0, int(match[2])


_shorthands = Shorthands(Genred)
generic_sum, generic_logsumexp = _shorthands.generic_sum, _shorthands.generic_logsumexp
generic_argmin, generic_argkmin = _shorthands.generic_argmin, _shorthands.generic_argkmin
