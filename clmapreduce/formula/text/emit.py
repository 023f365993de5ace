"""Nodes as OpenCL C statements for any number of lanes.

One statement per distinct value (common subexpressions share it). The same walk serves `float` and `float16`: only type
names, constants, masks and conversions depend on `lanes`. A bool is an int in one lane; in several it is a mask (0 or
-1 per lane) as wide as what was compared, so that a choice costs one blend.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from clmapreduce.dtypes import (
    BOOL,
    COMPLEX64,
    FLOAT32,
    FLOAT64,
    HEX,
    INT32,
    DType,
    c_name,
    converted_text,
    is_complex,
    literal,
    mask_name,
)
from clmapreduce.errors import DTypeError
from clmapreduce.formula.definitions import CAST, GUARD, PLACED
from clmapreduce.formula.node import Apply, Index, Literal, Node, Symbol, postorder
from clmapreduce.formula.tables.symbol import LOOKUP, OUTSIDE, TableSymbol, TableText, place_kind, place_texts

HALF_VECTOR = 32
"""Bytes of the widest vector that every driver's library takes; wider ones go through a macro of the prelude."""
_LIBRARY = re.compile(r"(\w+)\(\{0\}(?:, \{1\})?\)")


@dataclass(frozen=True)
class Text:
    """A C expression (a variable, mostly) and, for bools in several lanes, the width of their mask in bits. table: how
    elements of a table are read.
    """

    c: str
    bits: int = 0
    table: TableText | None = None


class Emitter:
    """Writes statements into `lines`. `prefix` keeps its names apart from others in the same C block.

    `narrow`: indices are computed as int, not long. `uniform`: all lanes have the same index. `inline`: ids of nodes
    that are written where they are used: CPU compilers only fuse a product with a sum that stands in the same
    expression. `instead`: by ids of nodes, other nodes that are written in their place.
    """

    def __init__(
        self, lanes: int, prefix: str, narrow: bool = False, uniform: bool = False, inline: Container[int] = (),
        instead: Mapping[int, Node] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self.lanes = lanes
        self.lines: list[str] = []
        self._prefix = prefix
        self._narrow = narrow
        self._uniform = uniform
        self._inline = inline
        self._instead = instead
        self._count = 0
        self._texts: dict[int, Text] = {}
        self._places: dict[int, str] = {}
        self._alive: list[Node] = []  # ids stay unique while their nodes live
        self._shared: dict[tuple[object, ...], Text] = {}

    def bind(self, node: Node, text: Text) -> None:
        """Gives a symbol its C text."""
        self._texts[id(node)] = text
        self._alive.append(node)

    def place(self, node: Index, at: str) -> None:
        """Gives an index node the C text of the first lane's index."""
        self._places[id(node)] = at
        self._alive.append(node)

    def text(self, node: Node) -> Text:
        """The C text of a node, after the statements it needs have been added to `lines`."""
        text = self._texts.get(id(node))
        if text is not None:
            return text
        for part in postorder([node], self._texts):
            if part is node or not isinstance(part, Index):  # an index is written in the dtype that wants it
                self._texts[id(part)] = self._write(part)
                self._alive.append(part)
        return self._texts[id(node)]

    def number(self, node: Node) -> str:
        """As `text`, as a plain value: a bool becomes 0 or 1 of type uchar (with lanes)."""
        text = self.text(node)
        return self._from_bool(text, np.dtype(np.uint8)) if node.dtype == BOOL else text.c

    def in_variable(self, node: Node) -> str:
        """As `number`, in a variable of its own."""
        kind = c_name(np.dtype(np.uint8) if node.dtype == BOOL else node.dtype, self.lanes)
        return self._name(f"const {kind} {{}} = {self.number(node)};")

    # ------------------------------------------------------------------------------------------------ one node
    def _write(self, node: Node) -> Text:
        if isinstance(node, Literal):
            return self._literal(node)
        if isinstance(node, Index):
            return self._index_as(node, node.dtype)
        if isinstance(node, TableSymbol) and node.text is not None:
            return Text(node.name, table=node.text)
        if isinstance(node, Symbol):
            raise KeyError(f"no C text was given for {node.name!r}")
        node = self._instead.get(id(node), node)
        assert isinstance(node, Apply)
        if node.function in (GUARD, PLACED):
            return self.text(node.args[1])
        if node.function is CAST:
            return self._cast(node.args[0], node.dtype)
        if node.function in (LOOKUP, OUTSIDE):
            return self._read_table(node)
        args = [self.text(arg) for arg in node.args]
        key = (node.function.name, node.dtype, node.args[-1].dtype, *args)
        if key not in self._shared:
            self._shared[key] = self._call(node, args)
        return self._shared[key]

    def _literal(self, node: Literal) -> Text:
        if node.dtype != BOOL or self.lanes == 1:
            return Text(literal(node.value, node.dtype, self.lanes))
        return Text(f"({mask_name(32, self.lanes)})({-1 if node.value else 0})", 32)

    def _call(self, node: Apply, args: list[Text]) -> Text:
        function, computing = node.function, node.args[-1].dtype
        spelling = function.spelling(computing)
        if spelling is None:
            raise DTypeError(f"{function.name} is not defined for {computing}")
        bits = 0
        if self.lanes > 1:
            bits = self._mask_bits(node, args)
            args = [self._widen(a, bits) if a.bits else a for a in args]
        if self.lanes > 1 and (function.split or "_{S}(" in spelling):
            c = self._split(node, spelling, args)
        elif (library := _LIBRARY.fullmatch(spelling)) and self.lanes * computing.itemsize > HALF_VECTOR:
            quarters = "Q" if self.lanes * computing.itemsize > 2 * HALF_VECTOR else ""  # sums of floats in float64
            arguments = ", ".join(a.c for a in args)
            c = f"CMR_CALL{len(args)}{quarters}({library[1]}, {c_name(computing, self.lanes)}, {arguments})"
        else:
            c = spelling.format(*(a.c for a in args), **self._words(computing, args, self.lanes))
        if id(node) in self._inline:
            return Text(c)
        return self._declare(c, node.dtype, bits if node.dtype == BOOL else 0)

    def _mask_bits(self, node: Apply, args: Sequence[Text]) -> int:
        """How wide masks must be in this call: as the numbers chosen or compared, else the widest mask given."""
        numbers = [a.dtype.itemsize * 8 for a in node.args if a.dtype != BOOL]
        return max(numbers) if numbers else max(a.bits for a in args)

    def _words(self, dtype: DType, args: Sequence[Text], lanes: int) -> dict[str, str]:
        return {**_type_words(dtype, lanes), "not0": f"(~{args[0].c})" if lanes > 1 else f"(!{args[0].c})"}

    def _split(self, node: Apply, spelling: str, args: Sequence[Text]) -> str:
        words = self._words(node.args[-1].dtype, args, 1)
        each = [spelling.format(*(f"{a.c}.s{HEX[lane]}" for a in args), **words) for lane in range(self.lanes)]
        return f"({c_name(node.dtype, self.lanes)})({', '.join(each)})"

    def _read_table(self, node: Apply) -> Text:
        """A lookup, or whether it lies outside, lane by lane."""
        (table, *places), dtypes = map(self.text, node.args), [place.dtype for place in node.args[1:]]
        key = (node.function.name, node.dtype, table, *places)
        if key not in self._shared:
            assert table.table is not None
            each = self._each_read(node.function is LOOKUP, table.table, [place.c for place in places], dtypes)
            self._shared[key] = self._from_lanes(each, node.dtype)
        return self._shared[key]

    def _each_read(self, reads: bool, table: TableText, places: Sequence[str], dtypes: Sequence[DType]) -> list[str]:
        """What every lane holds. Numbers of elements that are ints are computed in all lanes at once."""
        lanes = range(self.lanes)
        if reads and self.lanes > 1 and all(place_kind(dtype, self._narrow) == "int" for dtype in dtypes):
            kind = f"int{self.lanes}"
            wide = [converted_text(text, INT32, self.lanes) for text in places]
            whole = table.place([(kind, text) for text in wide], kind)
            name = self._name(f"const {kind} {{}} = {whole};")
            return [table.at(f"{name}.s{HEX[lane]}") for lane in lanes]
        each = [place_texts(places, dtypes, k if self.lanes > 1 else None, self._narrow) for k in lanes]
        return [table.at(table.place(at)) if reads else table.outside(at) for at in each]

    def _from_lanes(self, each: Sequence[str], dtype: DType) -> Text:
        """A variable of what every lane holds, bools as numbers."""
        kind = c_name(np.dtype(np.uint8) if dtype == BOOL else dtype, self.lanes)
        whole = each[0] if self.lanes == 1 else f"({kind})({', '.join(each)})"
        return self._declare(f"({whole} != ({kind})(0))" if dtype == BOOL else whole, dtype, 8 if dtype == BOOL else 0)

    # ------------------------------------------------------------------------------------------- conversions
    def _cast(self, source: Node, dtype: DType) -> Text:
        if isinstance(source, Index) and dtype != BOOL and not is_complex(dtype):
            return self._index_as(source, dtype)
        text = self.text(source)
        key = ("cast", dtype, source.dtype, text)
        if key not in self._shared:
            self._shared[key] = self._converted(text, source.dtype, dtype)
        return self._shared[key]

    def _index_as(self, node: Index, dtype: DType) -> Text:
        """The index in a dtype; a narrow one is computed as int, of which twice as many fit a register, and converted
        once.
        """
        at = self._places[id(node)]
        key: tuple[object, ...] = ("index", at, dtype)
        if key not in self._shared:
            text = index_text(at, self.lanes, self._narrow, self._uniform)
            self._shared[key] = self._declare(converted_text(text, dtype, self.lanes), dtype, 0)
        return self._shared[key]

    def _converted(self, text: Text, source: DType, dtype: DType) -> Text:
        if source == BOOL:
            return self._declare(self._from_bool(text, dtype), dtype, 0)
        if dtype == BOOL:
            if is_complex(source):
                return self._declare(f"(({text.c}.x != 0) | ({text.c}.y != 0))", BOOL, 0)
            return self._declare(f"({text.c} != {literal(0, source, self.lanes)})", BOOL, source.itemsize * 8)
        if is_complex(dtype):
            if is_complex(source):
                return self._declare(f"convert_{c_name(dtype)}({text.c})", dtype, 0)
            part = FLOAT32 if dtype == COMPLEX64 else FLOAT64
            return self._declare(f"({c_name(dtype)})(({c_name(part)})({text.c}), 0)", dtype, 0)
        return self._declare(converted_text(text.c, dtype, self.lanes), dtype, 0)

    def _from_bool(self, text: Text, dtype: DType) -> str:
        if is_complex(dtype):
            return f"({c_name(dtype)})({text.c}, 0)"
        if self.lanes == 1:
            return f"(({c_name(dtype)})({text.c}))"
        mask = self._widen(text, dtype.itemsize * 8)
        return f"({mask.c} ? {literal(1, dtype, self.lanes)} : {literal(0, dtype, self.lanes)})"

    def _widen(self, text: Text, bits: int) -> Text:
        """A mask as wide as the values it chooses between; conversion keeps 0 and -1."""
        if text.bits == bits:
            return text
        key: tuple[object, ...] = ("mask", bits, text)
        if key not in self._shared:
            target = mask_name(bits, self.lanes)
            self._shared[key] = Text(self._name(f"const {target} {{}} = CMR_CONVERT({text.c}, {target});"), bits)
        return self._shared[key]

    # -------------------------------------------------------------------------------------------- statements
    def _declare(self, c: str, dtype: DType, bits: int) -> Text:
        kind = c_name(dtype, self.lanes)
        if dtype == BOOL:
            kind = mask_name(bits or 32, self.lanes)
        return Text(self._name(f"const {kind} {{}} = {c};"), (bits or 32) if dtype == BOOL and self.lanes > 1 else 0)

    def _name(self, statement: str) -> str:
        name = f"{self._prefix}{self._count}"
        self._count += 1
        self.lines.append(statement.replace("{}", name, 1))
        return name


@lru_cache(maxsize=256)
def _type_words(dtype: DType, lanes: int) -> Mapping[str, str]:
    """The words of spellings that depend on the type alone."""
    real = dtype if dtype != BOOL else np.dtype(np.int8)
    kind, single = c_name(real, lanes), c_name(real)
    return {
        "V": kind,
        "S": single,
        "F": c_name(FLOAT32, lanes),
        "M": "" if is_complex(real) else c_name(np.dtype(f"i{real.itemsize}"), lanes),
        "zero": literal(0, real, lanes),
        "one": literal(1, real, lanes),
        "U": f"as_u{kind}" if lanes > 1 else "(uint)" if real.itemsize < 4 else f"(u{single})",
        "I": f"as_{kind}" if lanes > 1 else f"({single})",
    }


def index_text(at: str, lanes: int, narrow: bool, uniform: bool = False) -> str:
    """The indices `at`, `at`+1, … (`uniform`: `at` in every lane) as an int (narrow) or long value of `lanes` lanes."""
    scalar = "int" if narrow else "long"
    if lanes == 1:
        return f"(({scalar})({at}))"
    first = f"({scalar}{lanes})(({scalar})({at}))"
    return f"({first})" if uniform else f"({first} + ({scalar}{lanes})({', '.join(map(str, range(lanes)))}))"
