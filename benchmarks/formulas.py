"""Reductions over pairs that no other table has: formulas, reductions, dimensions and sizes at random, beside KeOps.

    python benchmarks/formulas.py --device nvidia
    python benchmarks/formulas.py --device intel --count 8000 --only "softmax|nearest"

Genred strings that both understand, on standard normal points. Times of whole calls in turns, medians. Errors: the
largest of 64 rows from KeOps in float64, beside the largest result; of the nearest, of their distances.
"""

from __future__ import annotations

import argparse
import datetime
import re
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pairwise import Contender, Ours, milliseconds, peer_of, race, ratio
from report import head, row

import clmapreduce as cm

CHECKED = 64
"""Rows whose results are compared."""
GAUSS, FAR = "Exp(-SqDist(x,y))", "SqDist(x,y)"


@dataclass(frozen=True)
class Formula:
    """A reduction. text: with x and y of `dim` coordinates, u and v of three, weights b of `width`, e like b, and
    parameters a, a number, and g, three. weights: of a softmax. kept: nearest columns. points: on either side, as a
    share of those that were asked for.
    """

    text: str
    dim: int = 3
    width: int = 1
    op: str = "Sum"
    weights: str = ""
    kept: int = 0
    dtype: str = "f4"
    points: tuple[float, float] = (1, 1)

    @property
    def options(self) -> dict[str, Any]:
        """Of Genred."""
        chosen: dict[str, Any] = {"formula2": self.weights, "opt_arg": self.kept}
        return {name: value for name, value in chosen.items() if value}

    def arrays(self, count: int) -> dict[str, Any]:
        """By the alias of a variable."""
        rng = np.random.default_rng(len(self.text))
        dims = {"x": self.dim, "y": self.dim, "u": 3, "v": 3, "b": self.width, "e": self.width, "a": 1, "g": 3}
        rows, columns = (max(1, round(share * count)) for share in self.points)
        arrays = {}
        for name in [n for n in dims if re.search(rf"\b{n}\b", self.text + " " + self.weights)]:
            kind = "Pm" if name in "ag" else "Vi" if name in "xue" else "Vj"
            shape = {"Vi": (rows, dims[name]), "Vj": (columns, dims[name]), "Pm": (dims[name],)}[kind]
            values = np.abs(rng.standard_normal(shape)) + 0.1 if kind == "Pm" else rng.standard_normal(shape)
            arrays[f"{name}={kind}({dims[name]})"] = (-values if name == "a" else values).astype(self.dtype)
        return arrays


def gaussians(*scales: str) -> str:
    return "(" + "+".join(f"Exp(-{FAR}*{scale})" for scale in scales) + ")*b"


FORMULAS = {
    "Matérn 5/2, D = 6": Formula(f"(IntCst(1)+Norm2(x-y)+{FAR}*IntInv(3))*Exp(-Norm2(x-y))*b", 6),
    "(1 + d²)ᵃ, D = 4": Formula(f"Powf(IntCst(1)+{FAR},a)*b", 4),
    "periodic, D = 3": Formula("Exp(-Sum(Square(Sin(x-y))))*b"),
    "exp(−‖x−y‖₁), D = 8": Formula("Exp(-Sum(Abs(x-y)))*b", 8),
    "exp of a cosine, D = 16": Formula("Exp(Normalize(x)|Normalize(y))*b", 16),
    "forces, D = 3": Formula(f"(x-y)*Powf(IntCst(1)+{FAR},a)*b"),
    "sigmoid, D = 10": Formula("Inv(IntCst(1)+Exp(-(x|y)))*b", 10),
    "ReLU, D = 5": Formula("ReLU(x|y)*b", 5),
    "anisotropic, D = 3": Formula("Exp(-WeightedSqDist(g,x,y))*b"),
    "four Gaussians, D = 3": Formula(gaussians("IntCst(1)", "IntInv(4)", "IntInv(16)", "IntCst(4)")),
    "varifolds, D = 3": Formula(f"{GAUSS}*Square(u|v)*b"),
    "two Gaussians, D = 3 and 3": Formula(f"{GAUSS}*Exp(-SqDist(u,v))*b"),
    "two Gaussians, four weights": Formula(f"{GAUSS}*Exp(-SqDist(u,v))*b", width=4),
    "two Gaussians, gradient": Formula(f"Grad({GAUSS}*Exp(-SqDist(u,v))*b,x,e)"),
    "two Laplacians, D = 3 and 3": Formula("Exp(-Norm2(x-y))*Exp(-Norm2(u-v))*b"),
    "Gabor, D = 3": Formula(f"{GAUSS}*Cos(x|y)*b"),
    "exp(i x·y), D = 3": Formula("ComplexExp1j(x|y)*b"),
    "Lennard-Jones, D = 3": Formula(f"(Pow(Inv({FAR}+IntCst(1)),6)-Pow(Inv({FAR}+IntCst(1)),3))*b"),
    "‖x−y‖, D = 10": Formula("Norm2(x-y)*b", 10),
    "‖x−y‖, D = 50": Formula("Norm2(x-y)*b", 50),
    "(x·y + 1)³, D = 20": Formula("Pow((x|y)+IntCst(1),3)*b", 20),
    "log(1 + |x·y|), D = 3": Formula("Log(Abs(x|y)+IntCst(1))*b"),
    "step, D = 3": Formula(f"Step(IntCst(1)-{FAR})*b"),
    "tensor products, 3 × 3": Formula(f"{GAUSS}*TensorProd(x-y,b)", width=3),
    "tensor products, 3 × 10": Formula(f"{GAUSS}*TensorProd(x-y,b)", width=10),
    "tensor products, 20 × 3": Formula(f"{GAUSS}*TensorProd(x-y,b)", 20, 3),
    "gradient of exp(−‖x−y‖), D = 7": Formula("Grad(Exp(-Norm2(x-y))*b,x,e)", 7),
    **{f"Gaussian, D = {dim}": Formula(f"Exp(-{FAR}*IntInv({dim}))*b", dim) for dim in (1, 2, 5, 7, 11, 13, 20, 40)},
    **{f"Gaussian, D = {dim}, {width} weights": Formula(f"{GAUSS}*b", dim, width) for dim, width in ((3, 6), (6, 12))},
    "logsumexp of x·y, D = 32": Formula("x|y", 32, op="LogSumExp"),
    "logsumexp of −‖x−y‖, D = 3": Formula("-Norm2(x-y)", op="LogSumExp"),
    "logsumexp of x − y, D = 20": Formula("x-y", 20, op="LogSumExp"),
    **{
        f"softmax, D = {dim}, {width} weights": Formula(f"-{FAR}", dim, width, "SumSoftMaxWeight", "b")
        for dim, width in ((3, 3), (3, 16), (8, 8), (12, 12), (16, 8), (16, 16), (20, 16), (32, 16), (64, 16))
    },
    "softmax of −‖x−y‖, 16 weights": Formula("-Norm2(x-y)", 3, 16, "SumSoftMaxWeight", "b"),
    "argmin of ‖x−y‖₁, D = 4": Formula("Sum(Abs(x-y))", 4, op="ArgMin"),
    "argmin of |x − y|, D = 20": Formula("Abs(x-y)", 20, op="ArgMin"),
    "argmax of a cosine, D = 10": Formula("Normalize(x)|Normalize(y)", 10, op="ArgMax"),
    "least ‖x−y‖₁, D = 2": Formula("Sum(Abs(x-y))", 2, op="Min"),
    **{
        f"nearest {kept}, D = {dim}": Formula(FAR, dim, op="ArgKMin", kept=kept)
        for dim, kept in ((3, 5), (3, 20), (3, 50), (10, 20), (20, 20), (40, 50))
    },
    "Gaussian, few rows": Formula(f"{GAUSS}*b", points=(0.01, 10)),
    "Gaussian, few columns": Formula(f"{GAUSS}*b", points=(10, 0.01)),
    "Gaussian, D = 50, few columns": Formula(f"{GAUSS}*b", 50, points=(10, 0.001)),
    "‖x−y‖, D = 25, few columns": Formula("Norm2(x-y)*b", 25, points=(10, 0.001)),
    "least ‖x−y‖₁, D = 17, few columns": Formula("Sum(Abs(x-y))", 17, op="ArgMin", points=(10, 0.001)),
    **{
        f"nearest 10, D = {dim}, few columns": Formula(FAR, dim, op="ArgKMin", kept=10, points=(10, 0.01))
        for dim in (3, 20, 50)
    },
    "Gaussian, a tenth": Formula(f"{GAUSS}*b", points=(0.1, 0.1)),
    **{
        f"{name}, float64": Formula(text, dtype="f8", points=(0.2, 0.2))
        for name, text in (
            ("Gaussian", f"{GAUSS}*b"), ("log(1 + d²)", f"Log(IntCst(1)+{FAR})*b"), ("sin(x·y)", "Sin(x|y)*b"),
            ("two Gaussians", f"{GAUSS}*Exp(-SqDist(u,v))*b"),
        )
    },
}  # fmt: skip


def error(formula: Formula, result: Any, right: Any, arrays: dict[str, Any]) -> float:
    """The largest of the rows that were checked. right: their results."""
    some = np.asarray(result)[:CHECKED].reshape(right.shape)
    if not formula.kept:
        return float(np.abs(some - right).max() / np.abs(right).max())
    x, y = (next(array for alias, array in arrays.items() if alias[0] == name).astype("f8") for name in "xy")
    far = np.square(x[:CHECKED, None] - y).sum(-1)
    found, best = (np.take_along_axis(far, np.asarray(places).astype(int), 1) for places in (some, right))
    return float((np.abs(found - best) / best.max()).max())


def tell(name: str, formula: Formula, ours: Ours, peer: Any, count: int, rounds: int) -> None:
    """Prints a row."""
    arrays = formula.arrays(count)
    aliases, how = list(arrays), {"reduction_op": formula.op, "axis": 1, **formula.options}
    mine = cm.Genred(formula.text, aliases, **how)
    own = [ours.array(array) for array in arrays.values()]
    us = Contender(ours, lambda: mine(*own))
    sizes = f"{own[0].shape[0]:,} × {next(a for alias, a in arrays.items() if 'Vj' in alias).shape[0]:,}"
    them, complaint = None, ""
    if peer is not None:
        try:
            genred = peer.genred(formula.text, aliases, **how)
            theirs = [peer.array(array) for array in arrays.values()]
            them = Contender(peer, lambda: genred(*theirs))
        except Exception as failure:  # it has no such reduction
            complaint = f"failed: {type(failure).__name__}"
    if them is None:
        race([us], rounds)
        row(name, sizes, milliseconds(statistics.median(us.wall)), complaint, "", "", "", f"{us.first:.2f} s")
        return
    first_rows = (array[:CHECKED] if "Vi" in alias else array for alias, array in arrays.items())
    right = peer.numpy(genred(*(peer.array(array.astype("f8")) for array in first_rows)))
    race([us, them], rounds)
    times = statistics.median(b / a for a, b in zip(us.wall, them.wall, strict=True))
    errors = (error(formula, side.result, right, arrays) for side in (us, them))
    walls = (milliseconds(statistics.median(side.wall)) for side in (us, them))
    row(name, sizes, *walls, ratio(times), *(f"{each:.0e}" for each in errors), f"{us.first:.2f} s, {them.first:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default=None, help="as for cm.select_device")
    parser.add_argument("--only", default="", help="a regular expression that the rows' names hold")
    parser.add_argument("--count", type=int, help="points: 100,000 on GPUs, 8,000 on CPUs")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--alone", action="store_true", help="without KeOps")
    options = parser.parse_args()
    device = cm.select_device(options.device)
    ours, peer = Ours(cm.Context(device)), None if options.alone else peer_of(device)
    command = " ".join(["python", Path(sys.argv[0]).name, *sys.argv[1:]])
    print(f"{device}\n{datetime.date.today()}, {command}, {peer.name if peer is not None else 'alone'}\n")
    head("reduction", "M × N", "ours", "KeOps", "×", "error", "KeOps'", "first calls")
    count = options.count or (100_000 if device.kind == "gpu" else 8_000)
    for name, formula in FORMULAS.items():
        if re.search(options.only, name) and (formula.dtype != "f8" or device.fp64):
            tell(name, formula, ours, peer, count, options.rounds)


if __name__ == "__main__":
    main()
