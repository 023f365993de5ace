"""How a kernel reads the inputs of a formula, and writes records: its parameters, and C text of elements at places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from clmapreduce.dtypes import (
    BOOL,
    DType,
    Leaf,
    broadcast_text,
    c_name,
    leaves,
    word_of,
)
from clmapreduce.formula.formula import Access, Input, Place
from clmapreduce.formula.node import Node, components
from clmapreduce.formula.tables.symbol import TableText
from clmapreduce.formula.text.emit import Text


def in_parameters(inputs: Iterable[Input]) -> list[str]:
    """The kernel's parameters for some inputs, in order, as C declarations."""
    return [text for operand in inputs for text in _parameters(operand)]


def _parameters(operand: Input) -> list[str]:
    if operand.access is Access.ARGUMENT:
        return [f"const {c_name(operand.dtype)} {operand.name}"]
    kind = "uchar" if operand.dtype.names else c_name(operand.dtype)
    strides = [f"const idx {operand.name}_size{d}, const idx {operand.name}_stride{d}" for d in range(operand.rank)]
    width = [f"const idx {operand.name}_width"] if operand.access is Access.ACROSS else []
    first = [f"const idx {operand.name}_first"] if operand.shifted else []
    limit = [f"const idx {operand.name}_last"] if operand.limited else []
    window = [f"const idx {operand.name}_first"] if operand.windowed else []
    return [f"__global const {kind} *restrict {operand.name}", *strides, *width, *first, *limit, *window]


def load(operand: Input, at: Place, lanes: int, prefix: str) -> tuple[list[str], dict[Node, Text]]:
    """Statements that read an input at a place (`lanes` indices from there, or one of `lanes` rows), and the text of
    each of its symbols.
    """
    lines: list[str] = []
    texts: dict[Node, Text] = {}
    if operand.access is Access.TABLE:
        return [], {node: _table(operand, leaf) for leaf, node in components(operand.value).items()}
    for part, (leaf, node) in enumerate(components(operand.value).items()):
        variable = f"{prefix}{operand.name}_{part}"  # a field's name may be any text, so it never enters the kernel
        lines.append(f"const {c_name(node.dtype, lanes)} {variable} = {_element(operand, leaf, at, lanes)};")
        texts[node] = as_bool(variable, node.dtype, lanes, lines) if node.dtype == BOOL else Text(variable)
    return lines, texts


def _table(operand: Input, leaf: Leaf) -> Text:
    """One number of a table's elements."""
    axes = range(operand.rank)
    sizes, strides = (tuple(f"{operand.name}_{what}{d}" for d in axes) for what in ("size", "stride"))
    return Text(operand.name, table=TableText(_one(operand, leaf, "({0})"), sizes, strides))


def as_bool(variable: str, dtype: DType, lanes: int, lines: list[str]) -> Text:
    """The truth of a variable that holds bools as numbers; adds the statement that computes it."""
    mask = f"{variable}_mask"
    if lanes == 1:
        lines.append(f"const int {mask} = {variable} != 0;")
        return Text(mask)
    lines.append(f"const char{lanes} {mask} = {variable} != ({c_name(dtype, lanes)})(0);")
    return Text(mask, 8)


def _element(operand: Input, leaf: Leaf, at: Place, lanes: int) -> str:
    across = lanes > 1 and at.pitch != ""
    if operand.windowed:
        at = replace(at, begin=f"{at.begin} - {operand.name}_first" if at.begin else f"-{operand.name}_first")
    if at.column and operand.access in (Access.VECTOR, Access.GATHERED):
        return _in_columns(operand, leaf, at, lanes)
    match operand.access:
        case Access.ARGUMENT:
            return broadcast_text(operand.dtype, operand.name, lanes)
        case Access.SINGLE:
            return broadcast_text(leaves(operand.dtype)[leaf][0], _one(operand, leaf, "0"), lanes)
        case Access.LINE if across:
            return broadcast_text(operand.dtype, _one(operand, leaf, f"({at.index})"), lanes)
        case Access.LINE if lanes > 1 and operand.shifted:
            return _load_anywhere(operand, f"({at.index})", lanes)
        case Access.LINE if lanes > 1:
            return f"CMR_LOAD({c_name(operand.dtype, lanes)}, {operand.name} + ({at.index}))"
        case Access.LINE:
            return _one(operand, leaf, f"({at.index})")
        case Access.ROW if across and operand.shifted:
            return _load_anywhere(operand, f"({at.row})", lanes)
        case Access.ROW if across:
            return f"CMR_LOAD({c_name(operand.dtype, lanes)}, {operand.name} + ({at.row}))"
        case Access.ROW:
            return broadcast_text(operand.dtype, _one(operand, leaf, f"({at.row})"), lanes)
        case Access.ACROSS:
            each = [_across_index(operand, at, lane) for lane in range(lanes)]
            if lanes > 1:
                width = f"{operand.name}_width"
                inside = f"({at.row}) % {width} + {lanes} <= {width}"
                return _together(operand, leaf, inside, _load_anywhere(operand, each[0], lanes), each)
        case Access.STRIDED if operand.together and lanes > 1:
            return _row_of_steps(operand, leaf, at, lanes)
        case Access.STRIDED:
            each = [_strided_index(operand, f"({at.element} + {lane})") for lane in range(lanes)]
        case Access.GATHERED if lanes > 1 and not operand.through and operand.every == 1:
            spot = f"{operand.name} + {_gathered(operand, at.element)}"
            return f"CMR_LOAD_ANYWHERE({c_name(operand.dtype, lanes)}, {lanes}, {spot})"
        case Access.GATHERED:
            each = [_gathered(operand, f"({at.element} + {lane})" if lane else at.element) for lane in range(lanes)]
        case Access.VECTOR if across:
            each = [f"({at.element} + {lane} * {at.pitch})" for lane in range(lanes)]
        case Access.VECTOR if lanes > 1 and operand.shifted:
            return _load_anywhere(operand, at.element, lanes)
        case Access.VECTOR if lanes > 1 and operand.in_words:
            return _words(operand, leaf, at.element, lanes)
        case Access.VECTOR if lanes > 1:
            return f"CMR_LOAD({c_name(operand.dtype, lanes)}, {operand.name} + {at.element})"
        case Access.PRIVATE if lanes > 1:
            return f"CMR_PEEK({c_name(operand.dtype, lanes)}, {operand.name} + {at.element})"
        case _:
            return _one(operand, leaf, at.element)
    each = [_one(operand, leaf, place) for place in each]
    return each[0] if lanes == 1 else f"({c_name(operand.dtype, lanes)})({', '.join(each)})"


def _row_of_steps(operand: Input, leaf: Leaf, at: Place, lanes: int) -> str:
    """Several lanes of a strided input: the place of the first one decides, where the others follow it in its row."""
    last = operand.rank - 1
    size, stride = f"{operand.name}_size{last}", f"{operand.name}_stride{last}"
    places = [_strided_index(operand, f"({at.element} + {lane})") for lane in range(lanes)]
    row = [_one(operand, leaf, f"{places[0]} + {lane} * {stride}") for lane in range(lanes)]
    kind = c_name(operand.dtype, lanes)
    load = f"({stride} == 1 ? {_load_anywhere(operand, places[0], lanes)} : ({kind})({', '.join(row)}))"
    return _together(operand, leaf, f"{at.element} % {size} + {lanes} <= {size}", load, places)


def _together(operand: Input, leaf: Leaf, condition: str, load: str, places: list[str]) -> str:
    """Several lanes by one load where a condition holds, which is one for all of them, else one by one."""
    each = ", ".join(_one(operand, leaf, place) for place in places)
    return f"(({condition}) ? {load} : ({c_name(operand.dtype, len(places))})({each}))"


def _load_anywhere(operand: Input, at: str, lanes: int) -> str:
    first = f"{operand.name}_first + " if operand.shifted else ""
    return f"CMR_LOAD_ANYWHERE({c_name(operand.dtype, lanes)}, {lanes}, {operand.name} + {first}{at})"


def _one(operand: Input, leaf: Leaf, at: str) -> str:
    at = f"{operand.name}_first + {at}" if operand.shifted else at
    if operand.dtype.fields is None:
        return f"{operand.name}[{at}]"
    part, offset = leaves(operand.dtype)[leaf]
    return field_text(operand.name, at, operand.dtype.itemsize, part, offset, const=True)


def field_text(base: str, at: str, itemsize: int, part: DType, offset: int, const: bool = False) -> str:
    """C lvalue of a record's field in a byte buffer: element `at`, `offset` bytes in."""
    qualifier = "const " if const else ""
    return f"(*(__global {qualifier}{c_name(part)} *)({base} + (size_t)({at}) * {itemsize} + {offset}))"


def words_stored(name: str, dtype: DType, texts: Mapping[Leaf, str], at: str, lanes: int, past_caches: bool) -> str:
    """C text that stores some extended numbers side by side in the array `name`, given as the texts of their words."""
    word = c_name(word_of(dtype))
    how, words = "stream" if past_caches else "store", ", ".join(texts[leaf] for leaf in leaves(dtype))
    return f"cmr_{how}_turns_{word}{lanes}((__global {word} *){name} + 2 * (size_t)({at}), {words});"


def _words(operand: Input, leaf: Leaf, at: str, lanes: int) -> str:
    """One word of some extended numbers side by side: every other float of two vectors."""
    word = word_of(operand.dtype)
    kind, which = c_name(word, lanes), ("evens", "odds")[leaves(operand.dtype)[leaf][1] // word.itemsize]
    first = f"(__global const {c_name(word)} *){operand.name} + 2 * (size_t)({at})"
    return f"cmr_{which}_{kind}(CMR_LOAD({kind}, {first}), CMR_LOAD({kind}, {first} + {lanes}))"


def _in_columns(operand: Input, leaf: Leaf, at: Place, lanes: int) -> str:
    """An element's numbers from the place's column on, or its only number in every lane."""
    element = _gathered(operand, at.element)
    if not operand.trailing:
        return broadcast_text(operand.dtype, _one(operand, leaf, element), lanes)
    spot = f"({element}) * columns + {at.column}"
    if lanes == 1:
        return _one(operand, leaf, spot)
    return f"CMR_LOAD({c_name(operand.dtype, lanes)}, {operand.name} + {spot})"


def _gathered(operand: Input, element: str) -> str:
    """The place of an element, through the arrays of places."""
    if operand.every > 1:
        element = f"((size_t){element} * {operand.every})"  # an index fits its type, the place need not
    if operand.ahead:
        element = f"({element} + {operand.ahead})"
    return place_through(operand, f"{operand.through[0]}[{element}]") if operand.through else element


def place_through(operand: Input, place_text: str) -> str:
    """The place of an element, from what the first array of places holds: one of the array's, whatever that is."""
    place = ""
    for name in (*operand.through[1:], operand.name):
        place = f"cmr_within((idx){place_text}, {name}_last)"
        place_text = f"{name}[{place}]"
    return place


def _across_index(operand: Input, at: Place, lane: int) -> str:
    """The place of a row's element where so many rows lie side by side, and `pitch` elements make a row."""
    row, width = (f"({at.row} + {lane})" if lane else f"({at.row})"), f"{operand.name}_width"
    return f"({row} / {width} * {at.pitch} + ({at.index})) * {width} + {row} % {width}"


def _strided_index(operand: Input, at: str) -> str:
    """The element's place: digits of the index in the collapsed dimensions, last one fastest, times their strides."""
    terms, rest = [], at
    for d in reversed(range(operand.rank)):
        digit = f"({rest}) % {operand.name}_size{d}" if d else rest
        terms.append(f"({digit}) * {operand.name}_stride{d}")
        rest = f"({rest}) / {operand.name}_size{d}"
    return " + ".join(terms)
