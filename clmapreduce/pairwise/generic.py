"""KeOps' four shorthands for Genred: what is reduced follows from how the output is declared."""

from __future__ import annotations

import inspect
import re
from typing import Any, TypeVar

from clmapreduce.checks import quoted
from clmapreduce.errors import ArgumentError, FormulaError
from clmapreduce.pairwise.genred import Genred

G = TypeVar("G", bound=Genred)
KEYWORDS = tuple(inspect.signature(Genred).parameters)[4:]
"""Of Genred, beside what an output and the name of a shorthand say."""
_OUTPUT = re.compile(r"\s*(?:[A-Za-z_]\w*\s*=\s*)?(Vi|Vj)\s*\(\s*(?:\d+\s*,\s*)?(\d+)\s*\)\s*")


def generic_sum(formula: str, output: str, *aliases: str, **kwargs: Any) -> Genred:
    """The sum of a formula: over j for an output such as "a = Vi(2)", over i for "a = Vj(2)".

    Keywords are Genred's. Raises FormulaError for any other output, ArgumentError for an unknown keyword.
    """
    return shorthand(Genred, "Sum", formula, output, aliases, kwargs)


def generic_logsumexp(formula: str, output: str, *aliases: str, **kwargs: Any) -> Genred:
    """The logarithm of the sum of exponentials of a scalar formula; as `generic_sum`."""
    return shorthand(Genred, "LogSumExp", formula, output, aliases, kwargs)


def generic_argmin(formula: str, output: str, *aliases: str, **kwargs: Any) -> Genred:
    """The index of the smallest value of a scalar formula; as `generic_sum`."""
    return shorthand(Genred, "ArgMin", formula, output, aliases, kwargs)


def generic_argkmin(formula: str, output: str, *aliases: str, **kwargs: Any) -> Genred:
    """The indices of the K smallest values of a scalar formula, for an output such as "a = Vi(K)"."""
    return shorthand(Genred, "ArgKMin", formula, output, aliases, kwargs)


def shorthand(
    kind: type[G], reduction: str, formula: str, output: str, aliases: tuple[str, ...], kwargs: dict[str, Any]
) -> G:
    """The reduction that `output` declares, an object of the class `kind`. For ArgKMin the declared dimension is K."""
    axis, count = _declared(output)
    if reduction == "ArgKMin":
        kwargs = {"opt_arg": count, **kwargs}
    unknown = [name for name in kwargs if name not in KEYWORDS]
    if unknown:
        raise ArgumentError(f"unknown keyword(s) {', '.join(unknown)}; the keywords are {', '.join(KEYWORDS)}")
    return kind(formula, aliases, reduction_op=reduction, axis=axis, **kwargs)


def _declared(output: str) -> tuple[int, int]:
    """(axis that is reduced, dimension) of a declared output."""
    match = _OUTPUT.fullmatch(output) if isinstance(output, str) else None
    if match is None:
        raise FormulaError(f"the output {quoted(output)} must be declared as 'a = Vi(dim)' or 'a = Vj(dim)'")
    return 1 if match[1] == "Vi" else 0, int(match[2])
