"""Findings without their repetitions, each with a reproducer of a few lines."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from fuzz.watch import Finding

SCRIPT = Path(__file__).parent.name


class Findings:
    """One entry per kind and place."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._times: Counter[tuple[str, ...]] = Counter()

    def add(self, finding: Finding) -> str | None:
        """The text of a finding to print; None for a repetition."""
        key = self._key(finding)
        self._times[key] += 1
        return None if self._times[key] > 1 else self.text_of(finding)

    @staticmethod
    def _key(finding: Finding) -> tuple[str, ...]:
        if finding.where.startswith(("oracles", "near", "inputs", "segments", "whole")) or not finding.where:
            return finding.kind, finding.block.family, re.sub(r"[\d.e+-]+", "#", finding.what)[:60]
        return finding.kind, finding.where

    def text_of(self, finding: Finding) -> str:
        block = finding.block
        lines = [
            f"[{finding.kind}] {block.family} ({block.kind}): {finding.what}" + (f" ({finding.where})" if finding.where else ""),
            f"    python tests/{SCRIPT} --device {self._device} --kind {block.kind} --family {block.family} --case {finding.seed}",
            *(f"    # {note}" for note in finding.notes),
        ]
        return "\n".join(lines)

    def __len__(self) -> int:
        return len(self._times)

    def counts(self) -> str:
        """How many of each kind, repetitions in brackets."""
        kinds = Counter(key[0] for key in self._times)
        return ", ".join(f"{n} {kind} ({sum(c for k, c in self._times.items() if k[0] == kind)} times)" for kind, n in sorted(kinds.items()))

    def failing(self) -> int:
        return sum(key[0] != "taken" for key in self._times)
