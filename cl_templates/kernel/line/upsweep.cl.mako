## cmr_upsweep: one level of a reduce that stores its partials; afterwards entry i holds the merge of (i − lowbit(i), i].
##   A group handles `tile` entries: neighbours merge, then pairs, then fours; each result is stored at its right end. Level 0 computes the entries from
##   the formula; a higher level takes every stride-th entry, the totals of the tiles below, and updates them in place.
##   in…  the formula's inputs (level 0)      parts  accumulators, entry 0 the identity      n  entries of this level      stride  tile^level
##   Local memory: one accumulator per entry of the tile. Barriers: 1 + log2(tile).
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%def name="tile_read(acc, at)">
% for part, type in op.parts:
${type} ${acc}_${part} = tile_${part}[${at}];
% endfor
</%def>
<%def name="tile_write(acc, at)">
% for part, type in op.parts:
tile_${part}[${at}] = ${acc}_${part};
% endfor
</%def>
${mode.open_kernel("cmr_upsweep", parameters + ["__global uchar *restrict parts", "const idx n", "const idx stride"])}
% for part, _ in op.parts:
${mode.local_array(f"tile_{part}")}
% endfor
    const idx begin = CMR_GROUP * ${tile};
    <%mode:each i="j" begin="0" end="${tile}">
        ${op.declare("acc")}
        if (begin + j < n) {
% if level == 0:
            ${op.absorb("acc", formula, ["(begin + j)"])}
% else:
            ${op.read("below", "parts", "(begin + j + 1) * stride")}
            ${op.assign("acc", "below")}
% endif
        }
        ${tile_write("acc", "j")}
    </%mode:each>
    ${mode.sync()}
% for d in [2**e for e in range(tile.bit_length() - 1)]:
    <%mode:each i="j" begin="0" end="${tile // (2 * d)}">
        ${tile_read("left", f"{2 * d} * j + {d - 1}")}
        ${tile_read("right", f"{2 * d} * j + {2 * d - 1}")}
        ${op.merge("right", "left", "right")}
        ${tile_write("right", f"{2 * d} * j + {2 * d - 1}")}
    </%mode:each>
    ${mode.sync()}
% endfor
    <%mode:each i="j" begin="0" end="${tile}">
        if (begin + j < n) {
            ${tile_read("acc", "j")}
            ${op.write("parts", "(begin + j + 1) * stride", "acc")}
        }
    </%mode:each>
% if level == 0:
    if (CMR_GROUP == 0 && ${mode.is_leader()}) {
        ${op.declare("none")}
        ${op.write("parts", "0", "none")}
    }
% endif
}
