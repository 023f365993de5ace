"""Plans as pictures in SVG: inputs on the left, launches one below the other, what passes between them, outputs on the
right. Edges carry bytes. Nothing else is needed to show them, no Graphviz and no script.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from clmapreduce.plan import Stage

CHARACTER, LINE, MARGIN = 7.3, 16, 16
"""Pixels: of a character, of a line of text, around boxes."""
ALONG, BELOW = 104, 44
"""Pixels between columns, and between rows: an edge with its label."""
WIDEST = 110
"""Characters of a line above the picture."""
FILLS = {"input": "#f1f1f1", "stage": "#e3ecfb", "between": "#fdf1da", "output": "#e2f3e5"}


@dataclass
class _Box:
    """A box with lines of text. x, y: its upper left corner. edges: at a side of it, at most."""

    kind: str
    lines: Sequence[str]
    edges: int = 0
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        return CHARACTER * max(map(len, self.lines)) + 20

    @property
    def height(self) -> float:
        return max(LINE * len(self.lines) + 10, LINE * (self.edges + 1))

    def svg(self) -> str:
        top = self.y + (self.height - LINE * len(self.lines)) / 2 + 12
        lines = "".join(
            f'<text x="{self.x + self.width / 2:.0f}" y="{top + LINE * n:.0f}" text-anchor="middle">'
            f"{escape(line)}</text>"
            for n, line in enumerate(self.lines)
        )
        return (
            f'<rect x="{self.x:.0f}" y="{self.y:.0f}" width="{self.width:.0f}" height="{self.height:.0f}" '
            f'rx="{4 if self.kind == "stage" else 13}" fill="{FILLS[self.kind]}" stroke="#555"/>{lines}'
        )


def drawing_of(title: str, why: str, stages: Sequence[Stage], sizes: Mapping[str, int]) -> str:
    """Launches as SVG text. why: what stands below the title. sizes: bytes of arrays by name."""
    picture = _Picture(stages, sizes)
    heads = [line for text in (title, *why.splitlines()) for line in _wrapped(text)]
    top = MARGIN + LINE * len(heads) + 8
    width = max(picture.width, *(MARGIN * 2 + CHARACTER * len(line) for line in heads))
    texts = "".join(
        f'<text x="{MARGIN}" y="{MARGIN + LINE * n + 8}">{escape(line)}</text>' for n, line in enumerate(heads)
    )
    height = top + picture.height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="monospace" font-size="12">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>'
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>{texts}'
        f'<g transform="translate(0 {top})">{picture.svg()}</g></svg>'
    )


class _Picture:
    """Boxes in three columns, laid out from the top, and the edges between them."""

    def __init__(self, stages: Sequence[Stage], sizes: Mapping[str, int]) -> None:
        self._launched, self._sizes = stages, sizes
        outputs = {name for stage in stages for name in stage.writes}
        later = {name for stage in stages for name in stage.reads}
        self.stages = [
            _Box("stage", _stage_lines(n, stage), max(len(stage.reads), len(stage.writes)))
            for n, stage in enumerate(stages, 1)
        ]
        self.arrays: dict[str, _Box] = {}
        for stage in stages:
            for name in (*stage.reads, *stage.writes):
                between = name in outputs and name in later and not name.startswith("out")
                kind = "between" if between else "output" if name in outputs else "input"
                self.arrays.setdefault(name, _Box(kind, [name]))
        self.outside = 0.0
        self.width, self.height = self._lay_out()

    def _lay_out(self) -> tuple[float, float]:
        """Gives boxes their places; width and height of all."""
        rows = [self._row(n) for n in range(len(self.stages))]
        left, middle, right = (
            max((_across(row[column]) if column == 1 else _widest(row[column]) for row in rows), default=0)
            for column in range(3)
        )
        middle = max(middle, _widest(self.stages))
        begins = [MARGIN, MARGIN + left + (ALONG if left else 0)]
        begins.append(begins[1] + middle + ALONG)
        y = float(MARGIN)
        for stage, (inputs, between, outputs) in zip(self.stages, rows, strict=True):
            height = max(stage.height, _tall(inputs), _tall(outputs))
            stage.x, stage.y = begins[1] + (middle - stage.width) / 2, y + (height - stage.height) / 2
            for column, boxes in ((0, inputs), (2, outputs)):
                at = y + (height - _tall(boxes)) / 2
                for box in boxes:
                    box.x, box.y = begins[column] + (left - box.width if column == 0 else 0), at
                    at += box.height + 10
            y += height
            if between:
                x, y = begins[1] + (middle - _across(between)) / 2, y + BELOW
                for box in between:
                    box.x, box.y, x = x, y, x + box.width + 12
                y += max(box.height for box in between)
            y += BELOW
        self.outside = begins[1] + middle + ALONG / 2
        return max(self.outside + ALONG, begins[2] + right + MARGIN if right else 0), y - BELOW + MARGIN

    def _row(self, number: int) -> tuple[list[_Box], list[_Box], list[_Box]]:
        """The arrays that stand beside and below a stage: those that it is the first to read or write."""
        before = {name for stage in self._launched[:number] for name in (*stage.reads, *stage.writes)}
        stage = self._launched[number]
        own = [name for name in dict.fromkeys((*stage.reads, *stage.writes)) if name not in before]
        by_kind = {kind: [self.arrays[n] for n in own if self.arrays[n].kind == kind] for kind in FILLS}
        return by_kind["input"], by_kind["between"], by_kind["output"]

    def svg(self) -> str:
        edges = "".join(self._edges())
        return edges + "".join(box.svg() for box in (*self.stages, *self.arrays.values()))

    def _edges(self) -> Iterator[str]:
        """All edges. Those of one side of a stage end at equal distances."""
        around = 0
        for stage, box in zip(self._launched, self.stages, strict=True):
            sides: dict[str, list[str]] = {}
            for name in dict.fromkeys((*stage.reads, *stage.writes)):
                sides.setdefault(self._side(box, self.arrays[name]), []).append(name)
            for side, names in sides.items():
                for place, name in enumerate(names, 1):
                    array, share = self.arrays[name], place / (len(names) + 1)
                    edge = _Edge(box, array, share, name in stage.reads, name in stage.writes, self._sizes.get(name))
                    if side == "right" and self._is_far(box, array):
                        around += 1
                        yield edge.around(self.outside + 8 * around)
                    else:
                        yield edge.across() if side in ("left", "right") else edge.down()

    def _side(self, stage: _Box, array: _Box) -> str:
        """Where an edge meets a stage: left or right, above or below. Right, too, past stages in between."""
        if array.kind != "between":
            return "left" if array.kind == "input" else "right"
        return "right" if self._is_far(stage, array) else "below" if array.y > stage.y else "above"

    def _is_far(self, stage: _Box, array: _Box) -> bool:
        """Whether another stage stands between two boxes of the middle column."""
        return array.kind == "between" and any(array.y < other.y < stage.y for other in self.stages)


@dataclass
class _Edge:
    """An edge between a stage and an array that it reads, writes or both. share: where along the stage's side it ends.
    """

    stage: _Box
    array: _Box
    share: float
    is_read: bool
    is_written: bool
    nbytes: int | None

    def across(self) -> str:
        """To a column beside."""
        stage, array = self.stage, self.array
        is_input = array.kind == "input"
        near = array.x + (array.width if is_input else 0), array.y + array.height / 2
        far = stage.x + (0 if is_input else stage.width), stage.y + stage.height * self.share
        start, end = (near, far) if self.is_read else (far, near)
        half = (near[0] + far[0]) / 2
        path = f"M{_at(start)}C{half:.0f} {start[1]:.0f} {half:.0f} {end[1]:.0f} {_at(end)}"
        return self._with_label(path, (far[0] + (-12 if is_input else 10), far[1] - 4), "end" if is_input else "start")

    def down(self) -> str:
        """To the row above or below."""
        stage, array = self.stage, self.array
        below = array.y > stage.y
        side = stage.x + stage.width * self.share, stage.y + (stage.height if below else 0)
        other = _middle(array), array.y + (0 if below else array.height)
        start, end = (other, side) if self.is_read else (side, other)
        half = (start[1] + end[1]) / 2
        path = f"M{_at(start)}C{start[0]:.0f} {half:.0f} {end[0]:.0f} {half:.0f} {_at(end)}"
        return self._with_label(path, ((start[0] + end[0]) / 2 + 6, half + 4), "start")

    def around(self, x: float) -> str:
        """Past the stages in between, at `x`."""
        start = self.array.x + self.array.width, self.array.y + self.array.height / 2
        end = self.stage.x + self.stage.width, self.stage.y + self.stage.height * self.share
        path = f"M{_at(start)}H{x - 6:.0f}q6 0 6 6V{end[1] - 6:.0f}q0 6 -6 6H{end[0]:.0f}"
        return self._with_label(path, (end[0] + 10, end[1] - 4), "start")

    def _with_label(self, path: str, place: tuple[float, float], anchor: str) -> str:
        edge = f'<path d="{path}" fill="none" stroke="#555" marker-end="url(#tip)"'
        edge += ' marker-start="url(#tip)"/>' if self.is_read and self.is_written else "/>"
        if self.nbytes is None:
            return edge
        return edge + (
            f'<text x="{place[0]:.0f}" y="{place[1]:.0f}" text-anchor="{anchor}" font-size="11" fill="#333">'
            f"{short_bytes(self.nbytes)}<title>{self.nbytes:,} bytes</title></text>"
        )


def _stage_lines(number: int, stage: Stage) -> list[str]:
    counts = ", ".join(f"{a[0]} {a[1]:,}" for a in stage.arguments if not isinstance(a, str))
    groups = f"{stage.groups:,} group{'' if stage.groups == 1 else 's'} of {stage.group_size}"
    lines = [f"{number}. {stage.spec.kernel}", groups, counts]
    return [line for line in lines if line]


def short_bytes(count: int) -> str:
    """Bytes in three digits or four: 12 MB."""
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.4g} {unit}"
        size /= 1000
    return f"{size:.4g} TB"


def _wrapped(text: str) -> list[str]:
    """Lines of at most WIDEST characters."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) >= WIDEST:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return [line[: WIDEST - 1] + "…" if len(line) > WIDEST else line for line in lines]


def _at(point: tuple[float, float]) -> str:
    return f"{point[0]:.0f} {point[1]:.0f}"


def _middle(box: _Box) -> float:
    return box.x + box.width / 2


def _widest(boxes: Sequence[_Box]) -> float:
    return max((box.width for box in boxes), default=0)


def _across(boxes: Sequence[_Box]) -> float:
    return sum(box.width + 12 for box in boxes) - 12 if boxes else 0


def _tall(boxes: Sequence[_Box]) -> float:
    return sum(box.height + 10 for box in boxes) - 10 if boxes else 0
