"""Drawings of how work is shared: modes, scopes, block sparsity, carry-out, guards of matrix instructions."""

from __future__ import annotations

from canvas import Canvas


def modes() -> Canvas:
    c = Canvas("modes", 720, 310, "A line of elements in the sequential and in the parallel mode")
    for top, name in ((30, 'mode="sequential"'), (180, 'mode="parallel"')):
        c.text((20, top), name, "code")
    for tile in range(3):
        x = 20 + 230 * tile
        for k in range(16):
            c.cell((x + 12 * k, 50), (12, 22), "blue", strong=k // 4 == 1)
            c.cell((x + 12 * k, 200), (12, 22), "orange", strong=k // 8 == 0)
        c.arrow((x + 4, 86), (x + 188, 86))
        c.text((x + 96, 104), "one work-item walks the tile,", "small", "middle")
        c.text((x + 96, 120), "a vector of lanes at a time", "small", "middle")
        for k in range(8):
            c.arrow((x + 6 + 12 * k, 226), (x + 6 + 12 * k, 242))
        c.text((x + 96, 260), "the items of a group share the tile", "small", "middle")
        c.text((x + 96, 276), "and meet at barriers", "small", "middle")
    c.text((360, 145), "CPUs: no barriers, no local memory, tiles spread over the cores", "small", "middle")
    c.text((360, 302), "GPUs: neighbours read neighbouring elements", "small", "middle")
    return c


def scopes() -> Canvas:
    c = Canvas("scopes", 720, 320, "The three scopes: an item, a group or the whole device walks a line")
    c.text((20, 30), "ITEM", "bold")
    c.text((20, 48), "one launch", "small")
    for row in range(3):
        for k in range(6):
            c.cell((120 + 18 * k, 18 + 20 * row), (18, 14), "blue")
        c.arrow((232, 25 + 20 * row), (280, 25 + 20 * row))
        c.text((290, 30 + 20 * row), f"item {row}: result {row}", "small")
    c.text((470, 46), "short lines, batches of short rows", "small")
    c.text((20, 120), "GROUP", "bold")
    c.text((20, 138), "one launch", "small")
    for row in range(2):
        for k in range(24):
            c.cell((120 + 9 * k, 106 + 26 * row), (9, 16), "green", strong=k % 8 < 4)
        c.arrow((340, 114 + 26 * row), (376, 114 + 26 * row))
        c.text((384, 119 + 26 * row), f"group {row}", "small")
    c.text((470, 132), "rows of some thousands", "small")
    c.text((20, 210), "DEVICE", "bold")
    c.text((20, 228), "a chain of", "small")
    c.text((20, 244), "launches", "small")
    for group in range(4):
        for k in range(12):
            c.cell((120 + 128 * group + 10 * k, 194), (10, 18), "orange", strong=group % 2 == 0)
        c.text((180 + 128 * group, 230), f"group {group}", "small", "middle")
        c.arrow((180 + 128 * group, 236), (340 + 12 * group, 262))
    c.box((290, 264), (150, 44), "grey", ["merge", "a launch of its own"])
    c.text((470, 292), "long lines: partial accumulators, then one more launch", "small")
    c.width = 800
    return c


def sparsity() -> Canvas:
    c = Canvas("sparsity", 720, 330, "Clusters of rows and columns, the blocks that count, and pieces of equal work")
    rows, columns = (40, 70, 50, 60), (60, 40, 80, 50, 30)
    pairs = {(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 3), (3, 3), (3, 4), (3, 0)}
    y = 60
    for i, height in enumerate(rows):
        x = 110
        for j, width in enumerate(columns):
            c.cell((x, y), (width, height), "blue" if (i, j) in pairs else "none", strong=(i, j) in pairs)
            x += width
        c.text((100, y + height / 2 + 5), f"rows {i}", "small", "end")
        y += height
    c.text((240, 24), "clusters of columns: intervals of j", "small", "middle")
    x = 110
    for j, width in enumerate(columns):
        c.text((x + width / 2, 50), f"{j}", "small", "middle")
        x += width
    c.text((110, 305), "pairs outside of the blue blocks are never visited", "small")
    c.text((430, 75), "A piece: rows of one cluster and a", "small")
    c.text((430, 92), "stretch of the columns that it meets.", "small")
    for number, (row, widths) in enumerate([(0, (60, 40)), (1, (40, 80)), (2, (80, 50)), (3, (60, 50, 30))]):
        top, x = 112 + 36 * number, 520
        c.text((430, top + 16), f"rows {row}", "small")
        for width in widths:
            c.cell((x, top), (width, 22), "green", strong=True)
            x += width
    c.text((430, 276), "Groups get pieces of about equal work;", "small")
    c.text((430, 293), "a last launch merges rows that were split.", "small")
    return c


def carry_out() -> Canvas:
    c = Canvas("carry_out", 720, 300, "Segments that reach over the borders of chunks")
    fills, lengths = ("blue", "green", "orange", "blue", "green"), (7, 12, 3, 16, 10)
    x = 20
    for number, (fill, length) in enumerate(zip(fills, lengths, strict=True)):
        for _ in range(length):
            c.cell((x, 50), (14, 24), fill, strong=True)
            x += 14
        c.text((x - 7 * length, 42), f"segment {number}", "small", "middle")
    for chunk in range(3):
        left = 20 + 224 * chunk
        c.line((left, 46), (left, 100), dashed=True)
        c.text((left + 112, 96), f"chunk {chunk}: one group", "small", "middle")
    c.line((692, 46), (692, 100), dashed=True)
    texts = [
        ["segment 0: done", "segment 1, first part: carry"],
        ["segment 1, last part: carry", "segment 2: done", "segment 3, first part: carry"],
        ["segment 3, last part: carry", "segment 4: done"],
    ]
    for chunk, lines in enumerate(texts):
        for number, line in enumerate(lines):
            c.text((30 + 224 * chunk, 124 + 18 * number), line, "small")
        c.arrow((132 + 224 * chunk, 172), (250 + 110 * chunk, 222))
    c.box((180, 224), (360, 50), "grey", ["fix-up", "parts of a segment are merged in the order of chunks"])
    return c


def guards() -> Canvas:
    c = Canvas("guards", 760, 270, "A fast product, the bound on its error, and the fallback")
    c.box((20, 90), (150, 60), "blue", ["operands", "pieces of 16 or 11 bits"])
    c.box((210, 90), (160, 60), "green", ["matrix product", "sums in float32"])
    c.box((410, 90), (150, 60), "grey", ["bound on errors", "per tile, row or pair"])
    c.box((600, 30), (140, 56), "green", ["stored", "nearly always"])
    c.box((600, 160), (140, 70), "orange", ["computed again", "as the formula says", "(fallback)"])
    c.arrow((170, 120), (208, 120))
    c.arrow((370, 120), (408, 120))
    c.arrow((560, 108), (598, 66))
    c.arrow((560, 134), (598, 182))
    c.text((572, 74), "small", "small", "end")
    c.text((572, 178), "in doubt", "small", "end")
    c.text((20, 190), "Packing notes what the pieces lose: digits of small numbers", "small")
    c.text((20, 208), "beside large ones, infinities, NaN. The bound follows from that.", "small")
    c.text((20, 226), "No condition on the data is left to you.", "small")
    return c
