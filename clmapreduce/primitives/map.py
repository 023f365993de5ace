"""Map: one output per index from the inputs at that index."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, overload

from clmapreduce.calls.arguments import Arguments, Shape, gather
from clmapreduce.calls.chunked import takes_chunks
from clmapreduce.calls.empty import empty_results
from clmapreduce.calls.options import CallOptions, Options, streams_past_caches
from clmapreduce.calls.prepared import Prepared, prepare
from clmapreduce.calls.progress import followed
from clmapreduce.calls.repeat.quick import quickly_repeated
from clmapreduce.calls.tracing import Traced, check_numbers
from clmapreduce.calls.windows import line_of
from clmapreduce.checks import quoted
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.domain.line import Line
from clmapreduce.errors import FormulaError
from clmapreduce.formula.formula import value_dtype
from clmapreduce.formula.guard import guarded
from clmapreduce.formula.parse import Expression
from clmapreduce.formula.trace import as_value, call, name_of
from clmapreduce.functions.keys import function_key
from clmapreduce.functions.portable import Portable, rebuilt
from clmapreduce.functions.snapshots import Internable, snapshot_of
from clmapreduce.planning.lines import MapRequest
from clmapreduce.planning.mode import choose_mode
from clmapreduce.primitives.base import Primitive
from clmapreduce.program.tracing import is_traced

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Map(Primitive):
    """An elementwise function of arrays.

    f: a Python callable traced on symbols (`lambda b, c: b * c / 2`, with the functions of `cm.math`), or an expression
    string `"b * c / 2"`, parsed without eval. It may return a tuple (several outputs) or a dict (one structured
    output). `cm.index` is the index, an int64. Raises FormulaError for text that is not allowed.
    """

    def __init__(self, f: Callable[..., Any] | str) -> None:
        self.expression = Expression(f) if isinstance(f, str) else None
        if self.expression is None and not callable(f):
            raise FormulaError(f"cm.Map takes a function or an expression string, not {quoted(f)}")
        self.function: Callable[..., Any] = self.expression if self.expression is not None else f  # type: ignore[assignment]
        self._traced = Traced(self.function, f"the expression {f!r}" if isinstance(f, str) else "the mapped function")

    def __repr__(self) -> str:
        return f"Map({self._text})"

    def __reduce__(self) -> Any:
        return rebuilt, (Map, Portable(self.function) if self.expression is None else self.expression.text)

    def key(self) -> Hashable | None:
        key = self.expression.text if self.expression is not None else function_key(self.function)
        return None if key is None or type(self) is not Map else (Map, key)

    def snapshot(self) -> Map:
        return Map(snapshot_of(self.function) if self.expression is None else self.expression.text)

    @property
    def _text(self) -> str:
        return name_of(self.function) if self.expression is None else repr(self.expression.text)

    @overload
    def __call__(
        self, value: DeviceArray, /, *values: Any, out: DeviceArray | None = None, length: int | None = None,
        tiles: int | None = None, **options: Unpack[CallOptions],
    ) -> DeviceArray: ...  # fmt: skip
    @overload
    def __call__(
        self, *values: Any, mode: str = "auto", context: Context | None = None, wait_for: Sequence[Any] = (),
        out: Any = None, length: int | None = None, tiles: int | None = None, progress: Any = None, **named: Any,
    ) -> Any: ...  # fmt: skip
    @quickly_repeated
    @takes_chunks
    @followed
    def __call__(
        self, *values: Any, mode: str = "auto", context: Context | None = None, wait_for: Sequence[Any] = (),
        out: Any = None, length: int | None = None, tiles: int | None = None, progress: Any = None,
        **named: Any,
    ) -> Any:  # fmt: skip
        """The values of f at every index of the broadcast inputs: one array per output, of the broadcast shape.

        values: arrays and numbers; with an expression string also by name. length: the result's length if no array has
        it. If an input is a DeviceArray, the outputs are DeviceArrays and the call does not wait; else they are NumPy
        arrays. Raises ShapeError, DTypeError or FormulaError before anything is launched.
        """
        ordered, options = self.ordered(values, named), Options(mode, context, wait_for, out, tiles)
        if is_traced(ordered):
            options.refuse_inside(repr(self), length=length, progress=progress)
            return call(self.function, ordered, repr(self))
        results = self._run(ordered, options, length=length)
        return results[0] if len(results) == 1 else tuple(results)

    def ordered(self, values: Sequence[Any], named: dict[str, Any]) -> Sequence[Any]:
        """A call's arguments in order. Raises FormulaError for unknown and for missing names."""
        if not named:
            return values
        if self.expression is None:
            raise FormulaError(
                f"a map of a function takes its arguments by place, and no keyword {', '.join(named)}; "
                "pass the values alone, or write the map as a text, whose names are keywords"
            )
        names = self.expression.names
        unknown = [n for n in named if n not in names]
        missing = [n for n in names[len(values) :] if n not in named]
        twice = [n for n in names[: len(values)] if n in named]
        if unknown or missing or twice:
            raise FormulaError(
                f"the map's arguments are ({', '.join(names)}); "
                f"unknown {unknown}, missing {missing}, both by place and by name {twice}"
            )
        return [*values, *(named[n] for n in names[len(values) :])]

    def _prepare(self, values: Sequence[Any], options: Options, **more: Any) -> Prepared | list[Any]:
        return self.prepared(gather(values, options.context, more.get("length")), options)

    def prepared(
        self, arguments: Arguments, options: Options, into: Shape | None = None
    ) -> Prepared | list[Any]:
        """As `_prepare`, for arguments that are sorted already. into: the shape of `out` where outputs are placed."""
        context = arguments.context
        formula = self._traced.formula(arguments.signature, context)
        check_numbers(formula, arguments)
        shape = arguments.shape if into is None else into
        outputs = [(shape, value_dtype(value)) for value in formula.outputs]
        if arguments.length == 0:
            return empty_results(arguments, outputs, options)
        mode = choose_mode(options.mode, context.facts)
        box = options.box("map", mode, context)
        streaming = streams_past_caches(options, outputs)
        line = Line(arguments.length, reach=arguments.reach)
        if into is None:
            line = line_of(arguments, outputs, options, shares=True)
        executable = context.executable(MapRequest(formula, line, mode, box, streaming))
        partly = guarded(formula.outputs) if into is None else (True,) * len(outputs)
        return prepare(arguments, executable, outputs, options, into is None, partly)


class Chain(Internable):
    """second ∘ first, a tuple spread over second's arguments."""

    def __init__(self, first: Map, second: Map) -> None:
        self.first, self.second = first, second
        self.__name__ = f"{first._text} >> {second._text}"

    def key(self) -> Hashable | None:
        keys = self.first.key(), self.second.key()
        return None if None in keys else (Chain, *keys)

    def snapshot(self) -> Chain:
        return Chain(self.first.snapshot(), self.second.snapshot())

    def __call__(self, *values: Any) -> Any:
        results = call(self.first.function, values, repr(self.first))
        middle = results if isinstance(results, tuple) else (results,)
        middle = tuple(as_value(value, repr(self.first)) if isinstance(value, dict) else value for value in middle)
        return call(self.second.function, middle, repr(self.second))


def chained(first: Map, second: Map) -> Map:
    """second ∘ first as one map."""
    return Map(Chain(first, second))
