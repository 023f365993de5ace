"""A factor of a sum of products moves to one side: c (x·y) is (c x)·y, so that each row is multiplied once instead of
every pair.

Each product is rounded once more, which is as much as its sum is off by anyway. Sums with a summand of one side stay:
of x − y, where both are far from 0, the sides' own roundings would be larger than the difference. So do sums of which
a comparison or a rounding is made, since c (x·y) is 0 where x·y is, and (c x)·y may be a little off; and exponents, of
which powers multiply the factor in themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from clmapreduce.dtypes import is_float
from clmapreduce.formula.fast import EXP2_FAST
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Node, postorder
from clmapreduce.lowering.pair import Role, joint_role
from clmapreduce.lowering.unique import rewritten

ADDING = frozenset({"add", "subtract", "negative"})
SMOOTH = ADDING | {
    "multiply", "divide", "divide_fast", "abs", "maximum", "minimum", "sqrt", "sqrt_fast", "rsqrt_fast", "root_fast",
    "exp", "exp2", "exp2_fast", "log", "log_fast", "power", "power_fast", "sin", "sin_fast", "cos", "cos_fast",
    "arctan", "arctan_fast", "tanh",
}  # fmt: skip
"""Functions without jumps: a small change of an argument is one of the result."""


def uses_of(values: Sequence[Node]) -> Counter[int]:
    """How often each node below some values is an argument or a value, by id."""
    nodes = [node for node in postorder(values) if isinstance(node, Apply)]
    return Counter(id(node) for node in [*values, *(arg for node in nodes for arg in node.args)])


class Spreading:
    """Changes one factor of every product in a sum. role: of every node, by id; those of new nodes are added. uses: of
    every node.
    """

    def __init__(self, role: dict[int, Role], uses: Counter[int]) -> None:
        self._role, self._uses = role, uses
        self._alive: list[Node] = []  # ids stay unique while their nodes live

    def noted(self, node: Node) -> Node:
        """The node, its role noted."""
        self._role[id(node)] = joint_role(node, self._role)
        self._alive.append(node)
        return node

    def changed(self, total: Node, side: Role, change: Callable[[Node], Node]) -> Node | None:
        """A node of the pair with a factor of a side, or a parameter, changed in each of the products that it adds up;
        None where one has no such factor, and where something else uses a factor or a part of the sum.
        """
        if not isinstance(total, Apply) or self._uses[id(total)] > 1:
            return None
        args: Sequence[Node] = ()
        if total.function.name in ADDING:
            summands = [self._summand(arg, side, change) for arg in total.args]
            args = [summand for summand in summands if summand is not None]
        elif total.function.name == "multiply":
            args = self._product(total.args, side, change)
        if len(args) < len(total.args):
            return None
        return self.noted(Apply(total.function, tuple(args), total.dtype, total.weak))

    def _summand(self, node: Node, side: Role, change: Callable[[Node], Node]) -> Node | None:
        role = self._role[id(node)]
        if role is Role.PARAMETER:
            return self.noted(change(node))
        return self.changed(node, side, change) if role is Role.PAIR else None

    def _product(self, args: Sequence[Node], side: Role, change: Callable[[Node], Node]) -> Sequence[Node]:
        """The factors, one of them changed, that of the side if it can be; none where no factor can be changed."""
        for place in sorted(range(2), key=lambda k: self._role[id(args[k])] is not side):
            role, new = self._role[id(args[place])], None
            if role is Role.PAIR:
                new = self.changed(args[place], side, change)
            elif role in (side, Role.PARAMETER) and self._uses[id(args[place])] <= 1:
                new = self.noted(change(args[place]))
            if new is not None:
                return [new if k == place else arg for k, arg in enumerate(args)]
        return ()


def spread_factors(values: Sequence[Node], role: dict[int, Role]) -> tuple[Node, ...]:
    """The values with factors of one side, or of none, inside of the sums of products that they multiply. role: of
    every node, by id; those of new nodes are added.
    """
    uses = uses_of(values)
    spreading, smooth = Spreading(role, uses), _smooth(values) - _exponents(values)

    def change(node: Apply, args: tuple[Node, ...]) -> Node | None:
        new: Node | None = None
        if node.function.name == "multiply" and is_float(node.dtype) and role[id(node)] is Role.PAIR:
            places = [(args[0], args[1]), (args[1], args[0])] if id(node) in smooth else []
            new = next((n for factor, total in places if (n := inside(factor, total)) is not None), None)
        if new is None:
            if all(arg is old for arg, old in zip(args, node.args, strict=True)):
                return None
            new = spreading.noted(Apply(node.function, args, node.dtype, node.weak))
        uses[id(new)] = uses[id(node)]
        return new

    def inside(factor: Node, total: Node) -> Node | None:
        """The product, its factor inside of the sum."""
        own = role[id(factor)]
        if own is Role.PAIR or role[id(total)] is not Role.PAIR:
            return None
        for side in (Role.ROW, Role.COLUMN) if own is Role.PARAMETER else (own,):
            new = spreading.changed(total, side, lambda one: apply("multiply", one, factor))
            if new is not None:
                return new
        return None

    new = rewritten(values, change)
    return tuple(new[id(value)] for value in values)


def _exponents(values: Sequence[Node]) -> frozenset[int]:
    powers = [node for node in postorder(values) if isinstance(node, Apply) and node.function is EXP2_FAST]
    return frozenset(id(node.args[0]) for node in powers)


def _smooth(values: Sequence[Node]) -> frozenset[int]:
    """Ids of the nodes that reach values through functions without jumps alone."""
    jumping: set[int] = set()
    nodes = list(postorder(values))
    for node in reversed(nodes):
        if isinstance(node, Apply) and (id(node) in jumping or node.function.name not in SMOOTH):
            jumping.update(id(arg) for arg in node.args)
    return frozenset(id(node) for node in nodes if id(node) not in jumping)
