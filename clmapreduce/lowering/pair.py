"""The computation for one pair (row, column), as scalar nodes, from which kernels are made.

A *row* is an index that stays, a *column* one that is reduced; which of them is KeOps' i depends on the axis. What
depends on the row alone is computed once per row and kept, what depends on the column alone once per column and tile,
what depends on neither once per work-item: these are the pair's `terms`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property

from clmapreduce.dtypes import BOOL, DType, is_float
from clmapreduce.formula.content import HasContent
from clmapreduce.formula.node import Apply, Literal, Node, Symbol, postorder
from clmapreduce.formula.tables.symbol import TableSymbol


class Role(IntEnum):
    """What a value depends on; the numbers are a mask: a value of both is a PAIR."""

    PARAMETER = 0
    ROW = 1
    COLUMN = 2
    PAIR = 3


@dataclass(frozen=True, eq=False)
class PairInput(HasContent):
    """One array: (..., rows or columns, dim), or (..., dim) for a parameter.

    name: in plans and kernels. dtype: in memory. symbols: one per coordinate, in the dtype that is computed with.
    rank: collapsed batch dimensions; 0 when there is no batch or one array serves all of it. scalar: a number among the
    kernel's arguments. by_launch: filled by an earlier launch of the same plan, (batch, rows, dim) in one piece. table:
    of a parameter that is read at computed places; where it is read in no other way, there are no symbols.
    """

    name: str
    role: Role
    dim: int
    dtype: DType
    symbols: tuple[Symbol, ...]
    rank: int = 0
    scalar: bool = False
    by_launch: bool = False
    table: TableSymbol | None = None

    @property
    def all_symbols(self) -> tuple[Symbol, ...]:
        """All that stand for it."""
        return self.symbols if self.table is None else (*self.symbols, self.table)

    @property
    def computing(self) -> DType:
        """The dtype that is computed with."""
        return self.all_symbols[0].dtype


@dataclass(frozen=True, eq=False)
class Contraction:
    """A sum over the coordinates of long vectors, kept as a loop; it may need the results of those before it.

    result: the symbol that stands for the sum in the pair's values. term: what is summed, for one coordinate. wide: per
    input that is walked, the symbol of its coordinate. size: how many coordinates.
    """

    result: Symbol
    term: Node
    wide: tuple[tuple[PairInput, Symbol], ...]
    size: int


@dataclass(frozen=True, eq=False)
class Expansion:
    """A long value that is walked coordinate by coordinate: `term` at one of them, made of symbols.

    scalars: they stand for the pair's values. rows, columns: what long vectors of the row, and of the column, give at
    the coordinate; a `result` for each `term`.
    """

    term: Node
    scalars: tuple[Symbol, ...]
    rows: tuple[Contraction, ...]
    columns: tuple[Contraction, ...]
    size: int


@dataclass(frozen=True, eq=False)
class Bilinear:
    """Σ_k rows[k]·columns[k] + row + column, all float32.

    result: the symbol that stands for it in a factoring's values. rows, row: made of the row's inputs, parameters,
    centres and literals. columns, column: of the column's, parameters, centres and literals. exponent: whether only
    exponentials to base 2 use it that may be computed roughly.
    """

    result: Symbol
    rows: tuple[Node, ...]
    columns: tuple[Node, ...]
    row: Node | None
    column: Node | None
    exponent: bool

    @property
    def nodes(self) -> list[Node]:
        """All that it is made of."""
        return [node for node in (*self.rows, *self.columns, self.row, self.column) if node is not None]


@dataclass(frozen=True, eq=False)
class Pair(HasContent):
    """The scalars reduced over the columns: `width` of the formula, then those of the weights. Compared by identity.

    expansion: where the value is a long vector, how it is made from scalars of the pair, which are the values then.
    bilinear: sums of products that come ready-made, as their results. factors: what a tile's sum of each value is
    multiplied by, of parameters alone; none where there are none.
    """

    inputs: tuple[PairInput, ...]
    values: tuple[Node, ...]
    width: int
    contractions: tuple[Contraction, ...] = ()
    expansion: Expansion | None = None
    bilinear: tuple[Bilinear, ...] = ()
    factors: tuple[Node, ...] = ()
    terms: Terms = field(init=False)

    def __post_init__(self) -> None:
        known = {id(part.result): Role.PAIR for part in self.bilinear}
        object.__setattr__(self, "terms", find_terms((*self.values, *self.factors), self.loops, self.inputs, known))

    @cached_property
    def scalar(self) -> Pair:
        """The pair of the scalars that a long value is made from."""
        return replace(self, expansion=None)

    @property
    def has_tables(self) -> bool:
        """Whether it reads at computed places."""
        return any(pair_input.table is not None for pair_input in self.inputs)

    @property
    def names(self) -> tuple[str, ...]:
        """The inputs' names."""
        return tuple(pair_input.name for pair_input in self.inputs)

    @property
    def loops(self) -> tuple[Contraction, ...]:
        """Whatever is walked coordinate by coordinate."""
        expansion = self.expansion
        return (*self.contractions, *((*expansion.rows, *expansion.columns) if expansion is not None else ()))

    @cached_property
    def products(self) -> frozenset[int]:
        """Ids of the products that are used once, by an addition or as a value: one instruction together with it."""
        long = [self.expansion.term] if self.expansion is not None else []
        return fused_products([*self.values, *(c.term for c in self.loops), *long])

    @property
    def dtype(self) -> DType:
        """The dtype of the formula's values."""
        return self.values[0].dtype

    @cached_property
    def nested(self) -> bool:
        """Whether a contraction needs the result of another."""
        results = {id(contraction.result) for contraction in self.contractions}
        return any(id(node) in results for node in postorder([c.term for c in self.contractions]))

    @cached_property
    def cost(self) -> int:
        """Operations per pair, roughly: what decides how many rows and columns one item takes at once."""
        role = self.terms.role
        own = sum(isinstance(node, Apply) and role[id(node)] is Role.PAIR for node in postorder(self.values))
        return own + sum(sum(isinstance(n, Apply) for n in postorder([c.term])) * c.size for c in self.contractions)


@dataclass(frozen=True, eq=False)
class Terms:
    """The nodes at which a pair's values meet what depends on less: per role, in the order of their occurrence."""

    uniform: tuple[Node, ...]
    rows: tuple[Node, ...]
    columns: tuple[Node, ...]
    role: dict[int, Role]

    def of(self, role: Role) -> tuple[Node, ...]:
        return {Role.PARAMETER: self.uniform, Role.ROW: self.rows, Role.COLUMN: self.columns}[role]


def fused_products(roots: Sequence[Node]) -> frozenset[int]:
    """Ids of the float products below some roots that are used once, by an addition, a subtraction or as a root."""
    uses: dict[int, int] = {}
    sums: set[int] = set()
    products: set[int] = set()
    for root in roots:
        uses[id(root)] = uses.get(id(root), 0) + 1
        sums.add(id(root))
    for node in postorder(roots):
        if not isinstance(node, Apply):
            continue
        if node.function.name == "multiply" and is_float(node.dtype):
            products.add(id(node))
        for arg in node.args:
            uses[id(arg)] = uses.get(id(arg), 0) + 1
            if node.function.name in ("add", "subtract"):
                sums.add(id(arg))
    return frozenset(place for place in products & sums if uses[place] == 1)


def find_terms(
    values: Sequence[Node], contractions: Sequence[Contraction] = (), inputs: Sequence[PairInput] = (),
    known: Mapping[int, Role] | None = None,
) -> Terms:  # fmt: skip
    """The terms of some values. A bool is never one: it is cheaper computed again than kept as a number; and a table is
    no number. known: as for `roles`.
    """
    role = roles(values, contractions, inputs, known)
    terms: dict[Role, dict[int, Node]] = {Role.PARAMETER: {}, Role.ROW: {}, Role.COLUMN: {}}

    def is_term(node: Node, user: Role) -> bool:
        """Whether `node` is a term of what uses it."""
        mine = role[id(node)]
        storable = node.dtype != BOOL and not isinstance(node, TableSymbol)
        return mine is not user and mine is not Role.PAIR and storable and not is_constant(node)

    visited: set[tuple[int, Role]] = set()
    todo = [(node, Role.PAIR) for node in [*values, *(c.term for c in contractions)][::-1]]
    while todo:
        node, user = todo.pop()
        if (id(node), user) in visited:
            continue
        visited.add((id(node), user))
        if is_term(node, user):
            terms[role[id(node)]].setdefault(id(node), node)
            user = role[id(node)]
        if isinstance(node, Apply):
            todo += [(arg, user) for arg in node.args[::-1]]
    ordered = {r: tuple(nodes.values()) for r, nodes in terms.items()}
    return Terms(ordered[Role.PARAMETER], ordered[Role.ROW], ordered[Role.COLUMN], role)


def roles(
    values: Sequence[Node],
    contractions: Sequence[Contraction],
    inputs: Iterable[PairInput],
    known: Mapping[int, Role] | None = None,
) -> dict[int, Role]:
    """The role of every node below some values and the contractions' terms, by id. known: of other symbols."""
    role = {id(symbol): operand.role for operand in inputs for symbol in operand.all_symbols} | dict(known or {})
    for contraction in contractions:
        role[id(contraction.result)] = Role.PAIR
        role |= {id(symbol): Role.PAIR for _, symbol in contraction.wide}  # each turn of the loop has another one
    for node in postorder([*values, *(c.term for c in contractions)]):
        if id(node) not in role:
            role[id(node)] = joint_role(node, role)
    return role


def joint_role(node: Node, role: Mapping[int, Role]) -> Role:
    """The role that follows from those of a node's arguments, by id; an unknown one is a parameter."""
    mask = 0
    for arg in node.args if isinstance(node, Apply) else ():
        mask |= role.get(id(arg), Role.PARAMETER)
    return Role(mask)


def is_constant(node: Node) -> bool:
    """Whether a node is a literal, or made of literals alone."""
    return all(isinstance(part, (Literal, Apply)) for part in postorder([node]))
