"""Formula strings and names that no parser should fall for."""

from __future__ import annotations

import numpy as np

PIECES = (
    "__import__('os').system('true')", "__class__", "x.__class__.__mro__", "lambda: 0", "exec('1')", "eval", "[x for x in y]", "x if y else z",
    "(" * 50, ")" * 50, "(" * 5000, "-" * 3000, "((((", "))))", "x" * 5000, "1" * 5000, "9" * 400, "1e400", "1e-400", "0x1F", "0b2", "1_000", "1.2.3",
    "\0", "\n", "\t", "\r\n", "\u202e", "é", "𝔵", "²", "½", "٣", "−", "×", "；", "🎲", "\ud800", "'", '"', "\\", "/*", "*/", "//", "#include <x>", "#define A", ";",
    "}", "{", "${x}", "%s", "{0}", "<%", "%>", "##", "::", "@", "`", "$", "?", "!", "!!", "&&", "||", "=", "==", "===", ":=", "**", "***", "*" * 200, ",", ",,",
    "None", "True", "nan", "inf", "NaN", "index", "where(", "where(x, y)", "sqrt()", "sqrt(x, x)", "exp(" * 200, "Exp(" * 300, "barrier(1)", "get_global_id(0)",
    "float", "int", "__global", "goto", "while(1);", "Vi(", "Vi(-1)", "Vi(99999999999)", "Vj(0,0)", "Pm(1e9)", "Var(0,3,7)", "Var(-1,3,0)", "Grad(", "Grad(x,x,x)",
    "Elem(x,99)", "Elem(x,-1)", "Extract(x,0,99999999)", "OneHot(x,1000000000)", "Pow(x,999999999)", "Round(x,1e9)", "TensorDot(x,y,Ind(),Ind(),Ind(),Ind())", "Concat()",
    "x ** 999999999", "x << 999", "x >> -1", "x // 0", "x % 0", "x / 0", "~x", "x @ y", "x[0]", "x.y", "x()", "1()", "()", "-", "+", "*",
)  # fmt: skip


def hostile_string(rng: np.random.Generator) -> str:
    """One piece, or a few in a row."""
    return "".join(str(PIECES[int(rng.integers(len(PIECES)))]) for _ in range(int(rng.choice([1, 1, 2, 4]))))


def mutate(rng: np.random.Generator, text: str) -> str:
    """The text with a few places changed."""
    for _ in range(int(rng.choice([1, 1, 2, 5]))):
        at = int(rng.integers(len(text) + 1))
        match int(rng.integers(6)):
            case 0:
                text = text[:at] + text[at + 1 :]
            case 1:
                text = text[:at] + hostile_string(rng) + text[at:]
            case 2:
                text = text[:at] + chr(int(rng.integers(32, 127))) + text[at:]
            case 3:
                end = int(rng.integers(at, len(text) + 1))
                text = text[:at] + text[at:end] * int(rng.choice([2, 3, 50])) + text[end:]
            case 4:
                text = text[:at] + text[at + 1 :].replace(")", "", 1)
            case _:
                text = text.swapcase() if rng.random() < 0.3 else text[:at]
        if len(text) > 20_000:
            break
    return text
