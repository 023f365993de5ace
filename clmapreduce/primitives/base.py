"""The base of all primitives: composition with `>>`, `explain` and `source`."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn

from clmapreduce.calls.chunked import examples
from clmapreduce.calls.explain import Explanation, explained, no_launch
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.calls.repeat import repeated
from clmapreduce.calls.tables import Table
from clmapreduce.checks import quoted
from clmapreduce.device.runtime import source_of
from clmapreduce.errors import ArgumentError, ModeError
from clmapreduce.functions.snapshots import Internable


class Primitive(Internable, ABC):
    """A primitive, or several composed with `>>`."""

    compose: ClassVar[Callable[[Primitive, Any], Any]]
    """What `>>` gives: set by `compose`, which knows every kind of primitive."""

    check_places: ClassVar[Callable[[Primitive, Sequence[Any], Options, dict[str, Any]], None]]
    """Raises PlaceError where a call reads outside of a checked table: set by `places`."""

    checking: Primitive | None = None
    """What tells whether a call does, once one has been asked."""

    def __rshift__(self, other: Primitive) -> Any:
        """This, then `other`: one `Pipeline`, fused."""
        return Primitive.compose(self, other)

    def __rrshift__(self, other: Any) -> NoReturn:
        raise ModeError(f"{quoted(other)} cannot stand before {self!r}: it is no primitive; wrap a function in cm.Map")

    @abstractmethod
    def _prepare(self, values: Sequence[Any], options: Options, **more: Any) -> Prepared | list[Any]:
        """Everything up to the launch; the results themselves where nothing needs launching."""

    def _run(self, values: Sequence[Any], options: Options, **more: Any) -> list[Any]:
        one = self.representative
        if one.checking is not one and any(isinstance(value, Table) and value.checked for value in values):
            Primitive.check_places(one, values, options, more)
        return repeated.run(one, values, options, more, lambda: one._prepare(values, options, **more))

    def explain(self, *values: Any, **keywords: Any) -> Explanation:
        """How a call with these arguments would run: mode, scope, why, and each launch; `.save("plan.svg")` draws it.
        Nothing is launched. Of Dask arrays: how a chunk would.
        """
        options, more = _split(type(self).__call__, keywords)
        prepared = self._prepare(examples(values), options, **more)
        if not isinstance(prepared, Prepared):
            return no_launch("the input is empty")
        return explained(prepared.executable.plan, prepared.sizes, prepared.devices).headed(repr(self))

    def source(self, *values: Any, **keywords: Any) -> str:
        """The OpenCL C that a call with these arguments would run."""
        options, more = _split(type(self).__call__, keywords)
        prepared = self._prepare(examples(values), options, **more)
        stages = prepared.executable.plan.stages if isinstance(prepared, Prepared) else ()
        return "\n".join(source_of(stage.spec) for stage in stages)


def _split(call: Callable[..., Any], keywords: dict[str, Any]) -> tuple[Options, dict[str, Any]]:
    """The keywords of a call, sorted. Raises ArgumentError for one that the call does not take."""
    unknown = [name for name in keywords if name not in inspect.signature(call).parameters]
    if unknown:
        raise ArgumentError(f"unknown keyword(s) {', '.join(unknown)}; the keywords are those of a call")
    names = Options.__dataclass_fields__
    options = Options(**{k: v for k, v in keywords.items() if k in names})
    return options, {k: v for k, v in keywords.items() if k not in names}
