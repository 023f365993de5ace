"""What columns give long values at a number, as a statement."""

from __future__ import annotations

from clmapreduce.schemes.pair_text import PairText


def weight_of(wide: PairText, column: str, d: str, part: int = 0) -> str:
    """Declares `weight`, what a column gives at number d; 0 beyond the last. wide: the pair with its expansion. part:
    which of the expansion's columns.
    """
    lines = ["float weight = 0.0f;", f"if ({column} < columns && {d} < {wide.expansion.size}) {{"]
    lines += [wide.uniforms(), wide.column(0, column)]
    statements, texts = wide.long_column(0, column, d)
    return "\n".join([*lines, statements, f"weight = {texts[part]};", "}"])
