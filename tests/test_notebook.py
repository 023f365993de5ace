"""What notebooks show: HTML that is well formed and escaped, loads nothing, and tells what the object holds."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.notebook import LEVELS, columns, facts, shades
from clmapreduce.schemes.pairs.boxes import PairBox


def shown(x: Any) -> tuple[str, ElementTree.Element]:
    """The HTML of an object, which is XML as well, and small."""
    text = x._repr_html_()
    assert len(text) < 50_000 and not re.search(r"<(script|link|img|iframe|style)|(?<!xmlns=\")https?:", text)
    return text, ElementTree.fromstring(text)


def words(tree: ElementTree.Element) -> str:
    return " ".join(text.strip() for text in tree.itertext())


def pixels(picture: str) -> np.ndarray:
    """The pixels of an SVG of `shades`, from 0 to 1."""
    tree = ElementTree.fromstring(picture)
    width, height = map(int, tree.attrib["viewBox"].split()[2:])
    image = np.zeros((height, width))
    for path in tree.iter("{http://www.w3.org/2000/svg}path"):
        for x, y, run, back in re.findall(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z", path.attrib["d"]):
            assert run == back and not image[int(y), int(x) : int(x) + int(run)].any()
            image[int(y), int(x) : int(x) + int(run)] = float(path.attrib["fill-opacity"])
    return image


def test_text_is_escaped() -> None:
    hostile = "<script>alert('&')</script>"
    for text in (facts(hostile, {hostile: hostile}), columns(hostile, [hostile], [[hostile]], hostile)):
        assert "<script" not in text and words(ElementTree.fromstring(text)).count(hostile) >= 3


@pytest.mark.parametrize("shape", [(1, 1), (1, 31), (33, 1), (7, 12)])
def test_pictures(shape: tuple[int, int], rng: np.random.Generator) -> None:
    image = rng.integers(0, LEVELS + 1, shape) / LEVELS
    np.testing.assert_array_equal(pixels(shades(image)), image)
    assert pixels(shades(np.full(shape, 1e-3))).min() == 1 / LEVELS, "few pairs are seen"
    assert not pixels(shades(np.zeros(shape))).any()


def test_devices(context: cm.Context) -> None:
    device = context.device
    text = words(shown(device)[1])
    for fact in (device.name, device.kind, device.platform, str(device.compute_units)):
        assert fact in text


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (1000, 1000)])
def test_arrays(shape: Any, context: cm.Context, rng: np.random.Generator) -> None:
    x = rng.integers(0, 9, shape).astype(np.float32)
    text = words(shown(cm.array(x, context))[1])
    for fact in (np.array2string(x, threshold=8), str(x.shape), "float32", context.device.name, f"{x.nbytes:,}"):
        assert fact in text


def test_pipelines(context: cm.Context) -> None:
    pipeline = cm.Map(lambda x: x * 2) >> cm.Reduce("sum")
    text, tree = shown(pipeline)
    assert "<lambda>" not in text and all(repr(part) in words(tree) for part in pipeline.function.parts)
    assert "fuse" in words(shown(cm.fuse(lambda x: x - cm.Reduce("sum")(x)))[1])


def test_compiled_pipelines(context: cm.Context, mode: str) -> None:
    pipeline = cm.fuse(lambda x: x / cm.Reduce("sum")(x))
    compiled = pipeline.compile(shapes=[(3_000_000,)], dtypes=["f4"], context=context, mode=mode)
    _, tree = shown(compiled)
    text, explained = words(tree), compiled.explain()
    kernels = re.findall(r"stage \d+: (\w+)", explained)
    assert len(tree.findall(".//tr")) == len(kernels) + 1 and all(kernel in text for kernel in kernels)
    for sizes in re.findall(r"\w+ \([\d,]+ bytes?\)", explained):
        assert sizes in text
    assert explained.splitlines()[1] in text


@pytest.mark.parametrize("shape", [(1, 1), (31, 33), (300, 5), (0, 0), (4, 0)])
def test_ranges(shape: tuple[int, int], rng: np.random.Generator) -> None:
    mask = rng.random(shape) < 0.3
    ranges = cm.Ranges.from_mask(mask)
    text, tree = shown(ranges)
    assert f"{ranges.shape[0]:,} x {ranges.shape[1]:,}" in words(tree)
    if mask.size and shape[0] <= 48:
        rows, cols = ranges.shape
        svg = re.search("<svg.*</svg>", text)
        np.testing.assert_array_equal(pixels(svg[0] if svg else ""), mask[:rows, :cols])


def test_ranges_of_many_pairs() -> None:
    """A band: dark along the diagonal, white elsewhere."""
    text, _ = shown(cm.Ranges.band(100_000, 100_000, 1000))
    svg = re.search("<svg.*</svg>", text)
    image = pixels(svg[0] if svg else "")
    assert image.shape == (48, 48) and np.diag(image).min() > 0.5 and not np.triu(image, 2).any()


def test_tunings() -> None:
    before = PairBox(block=32, bytes=16, vectors=1, at_once=1, tile=64)
    after = replace(before, block=128)
    text, tree = shown(cm.Tuned("sum <x>", before, after, 2.5, 1.25))
    assert "sum <x>" in words(tree) and "none is faster" not in text
    rows = [words(row) for row in tree.findall(".//tr")]
    assert "2.5" in rows[1] and "block=32" in rows[1] and "1.25" in rows[2] and "block=128" in rows[2]
    assert "none is faster" in shown(cm.Tuned("sum", before, before, 2.5, 2.5))[0]
