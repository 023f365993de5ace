## cmr_locate_rows: for each of some rows that lie one behind the other the place in it of its least or greatest f(in[i]).
##   A work-item compares blocks of `unroll` vectors of `lanes`, and each lane notes the number of its best block; at the end it reads the blocks of the lanes with the
##   best value again, for the lowest place. Elements behind the last whole block go one by one. A group has `share` rows.
##   in…  [rows][n], the formula's inputs      out…  [rows] places      Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<% block_size = lanes * unroll %>
${mode.open_kernel("cmr_locate_rows", parameters + [f"const idx {name}" for name in ("n", "rows", "share")])}
    const idx first = CMR_GROUP * share, last = first + min((idx)(rows - first), share), stretch = n / ${block_size} * ${block_size};
    for (idx row = first; row < last; row++) {
        const idx begin = row * n;
        ${op.declare("acc")}
        if (stretch > 0) {
            ${op.declare("part", lanes)}
            ${op.block_counter(lanes)} part_block = 0, number = 0;
            for (idx t = 0; t < stretch; t += ${block_size}) {
                ${op.beat("part", formula, [place(f"t + {k * lanes}" if k else "t") for k in range(unroll)], "number", lanes)}
                number += 1;
            }
            ${op.lane_arrays("part", lanes)}
            for (int lane = 0; lane < ${lanes}; lane++) {
                ${op.candidate("candidate_acc", "bests", "lane")}
                ${op.is_beaten("lost", "candidate_acc_best", "acc_best")}
                if (!lost) {
                    for (int k = 0; k < ${unroll}; k++) {
                        const idx at = (idx)blocks[lane] * ${block_size} + k * ${lanes} + lane;
                        ${op.match(formula, place("at"), "candidate_acc_best", "candidate_acc_place")}
                    }
                    ${op.merge("acc", "acc", "candidate_acc")}
                }
            }
        }
        for (idx i = stretch; i < n; i++) {
            ${op.absorb("acc", formula, [place("i")])}
        }
        ${op.finish("acc", lambda texts: store(texts, "row", 1))}
    }
}
