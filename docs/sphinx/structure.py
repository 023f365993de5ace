"""Drawings of how the library is built: the three packages, from a plan to a launch, derived waits."""

from __future__ import annotations

from canvas import Canvas


def packages() -> Canvas:
    c = Canvas("packages", 720, 300, "The three packages and what passes between them")
    what = ["clmapreduce", "what is computed, by which scheme", "formulas, operators, domains, plans"]
    how = ["cl_templates", "how it is written in OpenCL C", "Mako templates; no device, no driver"]
    c.box((240, 20), (240, 74), "blue", what)
    c.box((20, 190), (260, 74), "green", how)
    c.box((440, 190), (260, 74), "orange", ["hostsched", "when and where it runs", "devices, queues, buffers, jobs"])
    c.arrow((285, 94), (190, 188))
    c.text((108, 140), "a name, a context", "small")
    c.arrow((230, 188), (325, 96), dashed=True)
    c.text((288, 160), "kernel text", "small")
    c.arrow((435, 94), (530, 188))
    c.text((492, 140), "jobs: kernel, buffers, groups", "small")
    c.text((360, 290), "The lower two know neither each other nor clmapreduce.", "small", "middle")
    return c


def launch() -> Canvas:
    c = Canvas("launch", 760, 330, "From an expression to a result")
    steps = [
        ("blue", ["trace", "formula, program"]),
        ("blue", ["plan", "scheme, mode, scope, box"]),
        ("green", ["render", "OpenCL C"]),
        ("orange", ["build", "kernel"]),
        ("orange", ["launch", "jobs and their waits"]),
    ]
    places = [(20, 60), (180, 60), (390, 60), (520, 60), (20, 220)]
    widths = [130, 180, 100, 100, 170]
    for (fill, lines), (x, y), width in zip(steps, places, widths, strict=True):
        c.box((x, y), (width, 56), fill, lines)
    c.text((20, 40), "cm.Map(f) >> cm.Reduce(\"sum\")", "code")
    for begin, end in ((150, 178), (360, 388), (490, 518)):
        c.arrow((begin, 88), (end, 88))
    c.arrow((620, 88), (660, 88), (660, 170), (105, 170), (105, 218))
    c.arrow((190, 248), (250, 248))
    c.box((252, 220), (130, 56), "grey", ["result", "nobody waited yet"])
    c.text((85, 136), "once per kind", "small", "middle")
    c.text((85, 151), "of arguments", "small", "middle")
    c.text((270, 136), "no device involved;", "small", "middle")
    c.text((270, 151), "frozen data, the key of a cache", "small", "middle")
    c.text((570, 136), "binary kept on disk", "small", "middle")
    c.text((420, 210), "A warm call begins with the launch:", "small")
    c.text((420, 228), "plan and kernels are cache entries, found", "small")
    c.text((420, 246), "by shapes, dtypes and function.", "small")
    c.text((420, 272), "Waiting comes when values are asked for:", "small")
    c.text((420, 290), "np.asarray, float, print.", "small")
    return c


def waits() -> Canvas:
    c = Canvas("waits", 700, 250, "Five jobs and the waits derived from what they read and write")
    c.box((20, 90), (120, 56), "grey", ["write x", "from the host"])
    c.box((220, 20), (150, 56), "orange", ["y = 2 x", "reads x, writes y"])
    c.box((220, 160), (150, 56), "orange", ["z = 3 x", "reads x, writes z"])
    c.box((450, 90), (110, 56), "orange", ["z += y", "reads y and z"])
    c.box((610, 90), (80, 56), "grey", ["read z", "to the host"])
    c.arrow((140, 105), (218, 55))
    c.arrow((140, 131), (218, 181))
    c.arrow((370, 55), (448, 103))
    c.arrow((370, 181), (448, 133))
    c.arrow((560, 118), (608, 118))
    c.text((150, 76), "x", "code")
    c.text((150, 172), "x", "code")
    c.text((412, 72), "y", "code")
    c.text((412, 172), "z", "code")
    c.text((580, 110), "z", "code")
    c.text((295, 122), "side by side:", "small", "middle")
    c.text((295, 137), "no buffer in common is written", "small", "middle")
    return c
