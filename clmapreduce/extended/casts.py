"""Numbers in several floats from other values, and back: of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from clmapreduce.dtypes import BOOL, DType, count_words, is_complex, is_extended, is_float, word_of
from clmapreduce.errors import DTypeError
from clmapreduce.extended.words import extended, is_zero, normalised
from clmapreduce.formula.functions import as_node, cast
from clmapreduce.formula.node import Extended, Literal, Node


def alike(*operands: Any) -> list[Extended]:
    """The operands in the dtype of the extended ones among them. Raises DTypeError where they differ."""
    dtypes = {operand.dtype for operand in operands if isinstance(operand, Extended)}
    if len(dtypes) > 1:
        raise DTypeError(
            "numbers of two extended dtypes meet (cm.dd, cm.df, cm.qd, cm.qf); convert one with x.astype(cm.dd)"
        )
    (dtype,) = dtypes
    return [converted(operand, dtype) for operand in operands]


def words_of(x: Extended) -> list[Node]:
    """Its words, those that are the constant 0 left out, but for the first."""
    first, *others = x.values()
    return [first, *(word for word in others if not is_zero(word))]


def is_plain(x: Extended) -> bool:
    """Whether it was one float: all other words are the constant 0."""
    return len(words_of(x)) == 1


def converted(operand: Any, dtype: DType) -> Any:
    """A value in another dtype: to an extended one, from one, or between two."""
    if isinstance(operand, Extended):
        return _from_extended(operand, dtype)
    word = word_of(dtype)
    if isinstance(operand, (int, np.integer)) and not isinstance(operand, bool):
        return _constant(int(operand), dtype)
    weak = isinstance(operand, (bool, float)) and not isinstance(operand, np.generic)
    node = as_node(operand, word if weak else None)
    if is_complex(node.dtype):
        raise DTypeError(f"a {node.dtype} value cannot become a number in several floats; use .real and .imag")
    if is_float(node.dtype) and node.dtype.itemsize > word.itemsize:
        return normalised(cast(node, word), _in_narrow(node, word), count_words(dtype))
    if node.dtype.kind in "iu" and 8 * node.dtype.itemsize > np.finfo(word).nmant:
        return _from_integer(node, dtype)
    return _padded([cast(node, word)], dtype)


def _padded(words: list[Node], dtype: DType) -> Extended:
    zero = Literal(0, word_of(dtype))
    return extended([*words, *[zero] * (count_words(dtype) - len(words))])


def _constant(value: int, dtype: DType) -> Extended:
    """A Python integer: exact where the words hold it."""
    words: list[Node] = []
    try:
        for _ in range(count_words(dtype)):
            number = float(word_of(dtype).type(value))
            value -= int(number)
            words.append(Literal(number, word_of(dtype)))
    except OverflowError:
        raise DTypeError(
            f"the constant of {value.bit_length()} bits is beyond the range of {word_of(dtype)}"
        ) from None
    return extended(words)


def _from_integer(node: Node, dtype: DType) -> Extended:
    """An integer of more digits than a word, in parts that words hold."""
    word, size = word_of(dtype), 8 * node.dtype.itemsize
    bits = 32 if word.itemsize == 8 else 16
    if size > bits * count_words(dtype):
        raise DTypeError(f"{node.dtype} has more digits than two float32 hold for sure; use int32, cm.dd or cm.qf")
    parts = [node >> (size - bits)]
    parts += [(node >> shift) & ((1 << bits) - 1) for shift in range(size - 2 * bits, -1, -bits)]
    scales = range(size - bits, -1, -bits)
    terms = [cast(part, word) * Literal(2.0**scale, word) for part, scale in zip(parts, scales, strict=True)]
    return normalised(cast(node, word), terms, count_words(dtype))


def _from_extended(x: Extended, dtype: DType) -> Any:
    words = words_of(x)
    if x.dtype == dtype:
        return x
    if is_extended(dtype):
        return _between(words, dtype)
    if dtype == BOOL:
        return words[0] != 0
    if is_complex(dtype) or dtype.names is not None or not is_float(dtype):
        raise DTypeError(f"a number in several floats cannot become {dtype}; convert to float64 or float32 first")
    total = cast(words[-1], dtype)
    if dtype.itemsize <= words[0].dtype.itemsize:
        return cast(words[0], dtype)
    for word in reversed(words[:-1]):
        total = cast(word, dtype) + total
    return total


def _between(words: list[Node], dtype: DType) -> Extended:
    """A number in the words of another extended dtype, rounded where these hold fewer digits."""
    word = word_of(dtype)
    if word.itemsize < words[0].dtype.itemsize:
        terms = [part for wide in words for part in _in_narrow(wide, word)]
    else:
        terms = [cast(narrow, word) for narrow in words]
        if len(terms) <= count_words(dtype) and word == words[0].dtype:
            return _padded(terms, dtype)
    return normalised(terms[0], terms, count_words(dtype))


def _in_narrow(node: Node, word: DType) -> list[Node]:
    """A float64 as the sum of three float32, which hold its 53 bits where none of them is below the normal numbers."""
    parts = []
    for _ in range(3):
        parts.append(cast(node, word))
        node = node - cast(parts[-1], node.dtype)
    return parts
