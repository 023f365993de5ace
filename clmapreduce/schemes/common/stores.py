"""The text that stores a stage's results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from clmapreduce.dtypes import HEX, DType, Leaf, c_name, is_pair, leaves
from clmapreduce.formula.formula import Formula
from clmapreduce.formula.guard import condition_of, place_of
from clmapreduce.formula.node import Value
from clmapreduce.formula.text.loads import field_text, words_stored
from clmapreduce.formula.text.statements import Statements
from clmapreduce.plan import Epilogue

Store = Callable[..., str]
"""Called with the texts of a result's parts, the index and the lanes; gives the statements that keep it."""


@dataclass(frozen=True)
class Places:
    """Where results go. windows: the outputs, by number, of which the array holds a window. past_caches: how."""

    windows: tuple[int, ...] = ()
    past_caches: bool = False

    def of(self, output: int, at: str) -> str:
        """C text of the place of an index in an output's array."""
        return f"({at} - out{output}_first)" if output in self.windows else at


def store_text(output: int, dtype: DType, texts: Mapping[Leaf, str], at: str, lanes: int, streaming: bool) -> str:
    """C text that stores one output's parts at an index (the first of `lanes`)."""
    if is_pair(dtype) and lanes > 1:
        return words_stored(f"out{output}", dtype, texts, at, lanes, streaming)
    if dtype.fields is not None:
        return "\n".join(
            f"{field_text(f'out{output}', at, dtype.itemsize, *leaves(dtype)[leaf])} = {text};"
            for leaf, text in texts.items()
        )
    if lanes == 1:
        return f"out{output}[{at}] = {texts['']};"
    return f"{'CMR_STREAM' if streaming else 'CMR_STORE'}({c_name(dtype, lanes)}, out{output} + ({at}), {texts['']});"


def stores(outputs: Sequence[DType], tail: Epilogue | None, narrow: bool, places: Places) -> Store:
    """The text that stores a stage's result, given as the texts of its parts: through the tail, if any."""

    def plain(texts: Mapping[Leaf, str], at: str, lanes: int) -> str:
        return store_text(0, outputs[0], texts, places.of(0, at), lanes, places.past_caches)

    def through_tail(texts: Mapping[Leaf, str], at: str, lanes: int) -> str:
        assert tail is not None
        block = Statements(lanes, narrow, prefix="y")
        values = block.compute(tail.formula, at, {node: texts[name] for name, node in tail.results.items()})
        store_values(block, values, outputs, at, places)
        return "{\n" + str(block) + "\n}"

    return plain if tail is None else through_tail


def store_values(
    block: Statements, values: Sequence[Value], outputs: Sequence[DType], at: str, places: Places
) -> None:
    """Adds to a block the statements that store one value per output, where its guard, if any, holds."""
    for i, (value, dtype) in enumerate(zip(values, outputs, strict=True)):
        store_value(block, i, value, dtype, places.of(i, at), places.past_caches)


def store_value(block: Statements, output: int, value: Value, dtype: DType, at: str, past_caches: bool) -> None:
    """As `store_values`, for one output and its place in the array."""
    texts, condition, place = block.texts(value), condition_of(value), place_of(value)
    if condition is None and place is None:
        block.add(store_text(output, dtype, texts, at, block.lanes, past_caches))
        return
    holds = "" if condition is None else block.text(condition).c
    places = [f"{at} + {lane}" for lane in range(block.lanes)]
    if place is not None:
        spot = block.text(place).c
        places = [f"{spot}.s{HEX[lane]}" for lane in range(block.lanes)] if block.lanes > 1 else [spot]
    block.add(guarded_text(output, dtype, texts, holds, places.__getitem__, block.lanes))


def guarded_text(
    output: int, dtype: DType, texts: Mapping[Leaf, str], condition: str, at: Callable[[int], str], lanes: int
) -> str:
    """C text that stores one output lane by lane, where its condition (per lane) holds, if it has one."""
    if lanes == 1:
        text = store_text(output, dtype, texts, at(0), 1, False)
        return f"if ({condition}) {{ {text} }}" if condition else text
    whether = [f"if ({condition}.s{HEX[lane]}) " if condition else "" for lane in range(lanes)]
    lines = [f"{whether[lane]}out{output}[{at(lane)}] = numbers.s{HEX[lane]};" for lane in range(lanes)]
    return "\n".join([f"{{ const {c_name(dtype, lanes)} numbers = {texts['']};", *lines, "}"])


def map_text(outputs: Sequence[DType], narrow: bool, places: Places) -> Callable[[Formula, str, int], str]:
    """The statements that load a formula's inputs at an index, compute, and store every output there."""

    def store(formula: Formula, at: str, lanes: int) -> str:
        block = Statements(lanes, narrow)
        store_values(block, block.load(formula, at), outputs, at, places)
        return "{\n" + str(block) + "\n}"

    return store
