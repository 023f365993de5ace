"""Rewrites a pair's values so that little is left to do per pair: exponentials to base 2, and products with their
factors sorted by what they depend on.

exp(-d / s) * b becomes exp2(d * u) * b with u = -log2(e) / s, computed once. Floats only; the sum of all roundings
stays within a few units in the last place. A divisor that does not depend on the pair becomes a factor, its
reciprocal, so one below 1.2e-38 (float32) gives infinities, as on devices that flush such numbers. Where functions are
to be exact, only products are regrouped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from clmapreduce.dtypes import FLOAT32, FLOAT64, DType, is_float
from clmapreduce.formula.fast import FAST, RSQRT_FAST, SQRT_FAST, divide_fast, exp2_fast
from clmapreduce.formula.functions import apply, cast
from clmapreduce.formula.node import Apply, Literal, Node, postorder
from clmapreduce.lowering.pair import Role, joint_role

COMPUTING = (FLOAT32, FLOAT64)


class Regrouper:
    """Rewrites nodes of which `role` knows the roles (by id); the roles of new nodes are added to it. exact: functions
    and quotients stay.
    """

    def __init__(self, role: dict[int, Role], exact: bool = False) -> None:
        self._role = role
        self._exact = exact
        self._new: dict[int, Node] = {}
        self._alive: list[Node] = []  # ids stay unique while their nodes live

    def rewritten(self, values: Sequence[Node]) -> tuple[Node, ...]:
        """The values, rewritten; what they share stays shared."""
        for node in postorder(values):
            self._new[id(node)] = self._rewrite(node)
            self._alive.append(node)
        return tuple(self._new[id(node)] for node in values)

    def _rewrite(self, node: Node) -> Node:
        if not isinstance(node, Apply):
            return node
        args = tuple(self._new[id(arg)] for arg in node.args)
        same = all(new is old for new, old in zip(args, node.args, strict=True))
        fresh = node if same else self._noted(Apply(node.function, args, node.dtype, node.weak))
        if node.dtype not in COMPUTING:
            return fresh
        name = node.function.name
        if self._exact:
            return self._product([fresh]) if name in ("multiply", "negative") else fresh
        if name in ("exp", "exp2") and node.args[0].dtype == node.dtype:
            factor = [Literal(math.log2(math.e), node.dtype)] if name == "exp" else []
            return self._noted(exp2_fast(self._product([args[0], *factor])))
        if name in FAST:
            return self._noted(Apply(FAST[name], args, node.dtype))
        if name in ("multiply", "negative", "divide"):
            return self._product([fresh])
        return fresh

    def _noted(self, node: Node) -> Node:
        """The node, its role noted."""
        self._role[id(node)] = joint_role(node, self._role)
        self._alive.append(node)
        return node

    def _product(self, factors: list[Node]) -> Node:
        """The product of some nodes, with their own factors sorted by role."""
        dtype = factors[0].dtype
        number, sorted_ = 1.0, {role: list[Node]() for role in Role}
        todo = list(factors)
        while todo:
            factor = todo.pop(0)
            name = factor.function.name if isinstance(factor, Apply) and factor.dtype == dtype else ""
            if isinstance(factor, Literal) and is_float(factor.dtype):
                number *= float(factor.value)
            elif isinstance(factor, Apply) and name == "negative":
                number = -number
                todo.insert(0, factor.args[0])
            elif isinstance(factor, Apply) and name == "multiply":
                todo[:0] = factor.args
            elif isinstance(factor, Apply) and name == "divide" and not self._exact and self._splits(factor):
                todo.insert(0, factor.args[0])
                reciprocal = self._reciprocal(factor.args[1])  # a quotient too, so not looked into again
                sorted_[self._role[id(reciprocal)]].append(reciprocal)
            elif isinstance(factor, Apply) and name == "divide" and (root := self._root_below(factor)) is not None:
                todo.insert(0, factor.args[0])
                sorted_[Role.PAIR].append(self._noted(Apply(RSQRT_FAST, root.args, dtype)))
            elif isinstance(factor, Apply) and name == "divide" and not self._exact:
                sorted_[Role.PAIR].append(self._noted(divide_fast(*factor.args)))
            else:
                sorted_[self._role.get(id(factor), Role.PARAMETER)].append(factor)
        if not math.isfinite(number) or number == 0:
            return self._chain([*factors])
        return self._chain(self._merged(sorted_, number, dtype))

    def _merged(self, sorted_: dict[Role, list[Node]], number: float, dtype: DType) -> list[Node]:
        """One factor per role, the number among the role that is cheapest."""
        chains = {role: [self._chain(nodes)] for role, nodes in sorted_.items() if nodes}
        if number != 1:
            home = min(chains, default=Role.PARAMETER)
            links = chains.get(home, [])
            if number == -1 and links:
                chains[home] = [self._noted(apply("negative", links[0]))]
            else:
                literal = Literal(number, links[0].dtype if links else dtype)
                chains[home] = [self._chain([*links, literal])]
        return [chains[role][0] for role in sorted(chains, reverse=True)] or [Literal(number, dtype)]

    def _splits(self, quotient: Apply) -> bool:
        """Whether its divisor depends on less than the pair, and is no literal."""
        return self._role.get(id(quotient.args[1]), Role.PARAMETER) is not Role.PAIR

    def _root_below(self, quotient: Apply) -> Apply | None:
        """The divisor where it is a square root, and may be one within some units in the last place."""
        divisor = quotient.args[1]
        if self._exact or not isinstance(divisor, Apply) or divisor.dtype != quotient.dtype:
            return None
        return divisor if divisor.function is SQRT_FAST else None

    def _reciprocal(self, node: Node) -> Node:
        return self._noted(apply("divide", cast(Literal(1.0, node.dtype), node.dtype), node))

    def _chain(self, factors: list[Node]) -> Node:
        product = factors[0]
        for factor in factors[1:]:
            product = self._noted(apply("multiply", product, factor))
        return product
