## cmr_unfold: base, base∘base, …; element e is the base combined e + first_power times.
##   The powers of the first tile are computed by doubling: w powers and base^w give the next w. They stay in registers; each further element is one
##   combine of its tile's start with them. A group computes its start by repeated squares of base^tile. (Quorten's block trick.)
##   With `into`, an operator, elements are not stored but reduced, and the group leaves one accumulator, or the finished result.
##   in…  the base, and other inputs of the formula      out…  the sequence, or results; or parts  accumulators      n, share  as in cmr_map, share a
##   multiple of the tile
##   Local memory: one accumulator per element of the tile, and per item with `into`. Barriers: 1 + log2(tile), and those of cmr_reduce.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<% tile = block * lanes * rows %>
<%def name="tile_read(acc, at, declare=True)">
% for part, type in op.parts:
${type if declare else ""} ${acc}_${part} = tile_${part}[${at}];
% endfor
</%def>
<%def name="tile_write(acc, at)">
% for part, type in op.parts:
tile_${part}[${at}] = ${acc}_${part};
% endfor
</%def>
${mode.open_kernel("cmr_unfold", parameters + (["__global uchar *restrict parts"] if partial else []) + ["const idx n", "const idx share"])}
% for part, _ in op.parts:
${mode.local_array(f"tile_{part}")}
% endfor
% if into:
    ${mode.group_scratch(into)}
    ${into.declare("acc")}
    ${into.declare("part", lanes)}
% endif
    const idx begin = CMR_GROUP * share, end = begin + min((idx)(n - begin), share);
    ${op.declare("base")}
    ${op.absorb("base", formula, ["0"])}
    if (${mode.is_leader()}) {
% if first_power == 0:
        ${op.declare("none")}
        ${tile_write("none", 0)}
% else:
        ${tile_write("base", 0)}
% endif
    }
    ${mode.sync()}
    ${op.copy("square", "base")}
% for w in [2**e for e in range(tile.bit_length() - 1)]:
## square is base^w; the elements [w, 2w) are it times the elements [0, w).
    <%mode:each i="j" begin="0" end="${w}">
        ${tile_read("power", "j")}
        ${op.merge("power", "square", "power")}
        ${tile_write("power", f"{w} + j")}
    </%mode:each>
    ${op.merge("square", "square", "square")}
    ${mode.sync()}
% endfor
    ${op.copy("step", "square")}
    ${op.declare("start")}
    for (idx e = begin / ${tile}; e > 0; e >>= 1) {
        if (e & 1) { ${op.merge("start", "start", "square")} }
        ${op.merge("square", "square", "square")}
    }
% for k in range(rows):
    ${op.gather(f"v{k}", "tile", f"({k * block} + CMR_LOCAL_ID) * {lanes}", lanes)}
% endfor
    idx t = begin;
    for (; t + ${tile} <= end; t += ${tile}) {
        ${op.broadcast("shift", "start", lanes)}
% for k in range(rows):
        {
        ${op.copy("r", f"v{k}", lanes)}
        ${op.merge("r", "shift", "r", lanes)}
        ${op.finish("r", lambda texts: use(texts, f"(t + ({k * block} + CMR_LOCAL_ID) * {lanes})", lanes, "part"), lanes)}
        }
% endfor
        ${op.merge("start", "start", "step")}
    }
    <%mode:each i="i" begin="t" end="end">
        ${tile_read("r", "i - t")}
        ${op.merge("r", "start", "r")}
        ${op.finish("r", lambda texts: use(texts, "i", 1, "acc"))}
    </%mode:each>
% if into:
    ${into.fold("whole", "part", lanes)}
    ${into.merge("acc", "acc", "whole")}
    ${mode.combine_group(into, "acc")}
    if (${mode.is_leader()}) {
% if partial:
        ${into.write("parts", "CMR_GROUP", "acc")}
% else:
        ${into.finish("acc", lambda texts: store(texts, "0", 1))}
% endif
    }
% endif
}
