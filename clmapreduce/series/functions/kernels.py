"""A function, for the accuracy asked for, as what its kernel is written from."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from clmapreduce.dtypes import FLOAT64, DType, c_name, count_words, is_extended, word_of
from clmapreduce.extended.convert import words_of_value
from clmapreduce.schemes.line.series.series_function import SeriesFunction, Table
from clmapreduce.series.functions.accuracy import Accuracy
from clmapreduce.series.functions.catalogue import FUNCTIONS, TABLES, parts_of
from clmapreduce.series.functions.digits import Asked
from clmapreduce.series.functions.tables import INTEGERS, NUMBERS


@lru_cache(maxsize=256)
def series_function(name: str, goal: Asked, argument: DType) -> SeriesFunction:
    """The function of that name. argument: the dtype of its arguments."""
    function = FUNCTIONS[name]
    accuracy = Accuracy(goal.bits, goal.word, count_words(argument))
    if function.cancels and goal.word == FLOAT64:  # float32 has no room for more words
        accuracy = replace(accuracy, bits=goal.bits + accuracy.precision * accuracy.words_in + 16)
    parts = parts_of(function.part)
    names = dict.fromkeys(table for part in parts for table in TABLES.get(part, ()))
    tables = tuple(_table(table, accuracy) for table in names)
    stored = word_of(goal.dtype)
    return SeriesFunction(
        name, parts, tables, accuracy.numbers, c_name(stored), count_words(goal.dtype), function.operands
    )


@lru_cache(maxsize=64)
def complex_function(name: str, goal: Asked) -> SeriesFunction:
    """The function of that name of complex numbers. Logarithms of numbers near 1 have words for the squares of both
    parts, in which 1 cancels.
    """
    function = FUNCTIONS[name]
    squares = 2 * Accuracy(goal.bits, goal.word, 1).precision
    accuracy = Accuracy(goal.bits, goal.word, 1, squares if name in ("log", "power") else 0)
    parts = parts_of("complex")
    tables = tuple(_table(table, accuracy) for table in dict.fromkeys(t for p in parts for t in TABLES.get(p, ())))
    stored = word_of(goal.dtype)
    results = 2 if is_extended(goal.dtype) else 1
    return SeriesFunction(
        name, parts, tables, accuracy.numbers, c_name(stored), count_words(goal.dtype), function.operands, results, True
    )


@lru_cache(maxsize=512)
def _table(name: str, accuracy: Accuracy) -> Table:
    if name in INTEGERS:
        ctype, entries = INTEGERS[name]
        numbers = entries(accuracy)
        return Table(name, ctype, len(numbers), tuple(f"{n}u" if ctype == "uint" else str(n) for n in numbers))
    rows = NUMBERS[name](accuracy)
    suffix = "f" if accuracy.word.itemsize == 4 else ""
    words = [word for row in rows for word in words_of_value(row, accuracy.word, accuracy.words)]
    return Table(name, "real", len(rows), tuple(word.hex() + suffix for word in words))
