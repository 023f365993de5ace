"""Random formulas of a few vectors: traced by the library, or computed in NumPy with a bound on what rounding does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from fuzz.near import Near, where

import clmapreduce as cm

Tree = tuple[Any, ...]
"""("x", which) | ("number", value) | (operation, *trees)."""

Operations = Mapping[str, Callable[..., Any]]

ARITHMETIC = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "neg": lambda a: -a,
    "abs": lambda a: abs(a), "plus": lambda a, n: a + n, "times": lambda a, n: a * n,
}  # fmt: skip
WHOLE = {
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "not": lambda a: ~a,
    "left": lambda a, b: a << (b & 7), "right": lambda a, b: a >> (b & 7), "floor": lambda a, b: a // ((b & 7) + 1),
    "rest": lambda a, b: a % ((b & 7) + 1),
}  # fmt: skip
SYMBOLIC: Operations = {
    **ARITHMETIC, **WHOLE, "quotient": lambda a, b: a / (abs(b) + 1), "root": lambda a: cm.math.sqrt(abs(a)),
    "decay": lambda a: cm.math.exp(-abs(a)), "sin": cm.math.sin, "tanh": cm.math.tanh, "larger": cm.math.maximum,
    "smaller": cm.math.minimum, "less": lambda a, b, c, d: cm.where(a < b, c, d), "equal": lambda a, b, c, d: cm.where(a == b, c, d),
}  # fmt: skip
NUMPY: Operations = {
    **ARITHMETIC, **WHOLE, "larger": np.maximum, "smaller": np.minimum, "less": lambda a, b, c, d: np.where(a < b, c, d),
    "equal": lambda a, b, c, d: np.where(a == b, c, d),
}  # fmt: skip
BOUNDED: Operations = {
    **ARITHMETIC, "quotient": lambda a, b: a / (abs(b) + 1), "root": Near.root, "decay": Near.decaying,
    "sin": lambda a: a.smooth(np.sin), "tanh": lambda a: a.smooth(np.tanh), "larger": lambda a, b: a.larger(b),
    "smaller": lambda a, b: a.larger(b, np.minimum), "less": lambda a, b, c, d: where(a.value < b.value, c, d),
    "equal": lambda a, b, c, d: where(a.value == b.value, c, d),
}  # fmt: skip
TEXTS = {
    "add": "({} + {})", "sub": "({} - {})", "mul": "({} * {})", "neg": "(-{})", "abs": "abs({})", "plus": "({} + {})",
    "times": "({} * {})", "and": "({} & {})", "or": "({} | {})", "xor": "({} ^ {})", "not": "(~{})", "left": "({} << ({} & 7))",
    "right": "({} >> ({} & 7))", "floor": "({} // (({} & 7) + 1))", "rest": "({} % (({} & 7) + 1))", "quotient": "({} / (abs({}) + 1))",
    "root": "sqrt(abs({}))", "decay": "exp(-abs({}))", "sin": "sin({})", "tanh": "tanh({})", "larger": "maximum({}, {})",
    "smaller": "minimum({}, {})", "less": "where({} < {}, {}, {})", "equal": "where({} == {}, {}, {})",
}  # fmt: skip
FLOATS = ("add", "sub", "mul", "mul", "neg", "abs", "plus", "times", "quotient", "root", "decay", "sin", "tanh", "larger", "smaller", "less")
INTEGERS = ("add", "sub", "mul", "neg", "abs", "plus", "times", "larger", "smaller", "less", "equal", *WHOLE)
BOOLS = ("and", "or", "xor", "not", "equal")
SIZES = {"neg": 1, "abs": 1, "not": 1, "root": 1, "decay": 1, "sin": 1, "tanh": 1, "less": 4, "equal": 4}


def drawn_tree(rng: np.random.Generator, kind: str, count: int, depth: int = 3, leaves: Sequence[int] | None = None) -> Tree:
    """A formula of `count` vectors of a dtype of that kind. Comparisons are of the vectors themselves, which are exact.
    leaves: which of the vectors may be compared, all by default.
    """
    exact = list(range(count)) if leaves is None else list(leaves)

    def leaf() -> Tree:
        return ("x", int(rng.integers(count)))

    def tree_of_depth(depth_left: int) -> Tree:
        if depth_left == 0 or rng.random() < 0.15:
            return leaf()
        name = str(rng.choice({"f": FLOATS, "b": BOOLS}.get(kind, INTEGERS)))
        if kind == "u" and name in ("neg", "abs"):
            name = "not"
        if name in ("plus", "times"):
            number = float(rng.choice([0.5, 2.0, -1.5, 0.25])) if kind == "f" else int(rng.integers(0, 7))
            return (name, tree_of_depth(depth_left - 1), ("number", number))
        if name in ("less", "equal"):
            if not exact:
                return leaf()
            pair = [("x", int(rng.choice(exact))) for _ in range(2)]
            return (name, *pair, tree_of_depth(depth_left - 1), tree_of_depth(depth_left - 1))
        return (name, *(tree_of_depth(depth_left - 1) for _ in range(SIZES.get(name, 2))))

    return tree_of_depth(depth)


def evaluate(tree: Tree, vectors: Sequence[Any], operations: Operations) -> Any:
    if tree[0] == "x":
        return vectors[tree[1]]
    if tree[0] == "number":
        return tree[1]
    return operations[tree[0]](*(evaluate(part, vectors, operations) for part in tree[1:]))


def function_of(tree: Tree, count: int) -> Callable[..., Any]:
    """A function of `count` arguments for the library to trace."""
    names = ", ".join(f"x{k}" for k in range(count))
    function: Callable[..., Any] = eval(f"lambda {names}: run(tree, [{names}], ops)", {"run": evaluate, "tree": tree, "ops": SYMBOLIC})
    return function


def text_of(tree: Tree) -> str:
    """As an expression string of x0, x1, …"""
    if tree[0] == "x":
        return f"x{tree[1]}"
    if tree[0] == "number":
        return repr(tree[1])
    return TEXTS[tree[0]].format(*(text_of(part) for part in tree[1:]))


def expected(tree: Tree, vectors: Sequence[Any]) -> Any:
    """A `Near` for floats, else what NumPy gives. vectors: arrays of one dtype, or what this gave."""
    if isinstance(vectors[0], Near) or vectors[0].dtype.kind == "f":
        with np.errstate(all="ignore"):
            return evaluate(tree, [v if isinstance(v, Near) else Near.of(v) for v in vectors], BOUNDED)
    with np.errstate(all="ignore"):
        value = evaluate(tree, vectors, NUMPY)
    return np.asarray(value)
