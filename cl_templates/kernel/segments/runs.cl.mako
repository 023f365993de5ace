## cmr_runs: where runs of equal keys begin, the second of two passes; the first one counted the changes in every group's range.
##   A group adds the counts of the groups before it, then walks its pairs of neighbours (i, i + 1), `stretch` of them per item and step:
##   changes as bits, prefix sums of their counts over the items, then one place per change.
##   in…  the keys, once and one element ahead    counts  changes per group    out0  where runs begin, and n after the last one
##   out1  a key per run, its first or last one    out2  the number of runs    n  pairs: keys - 1    share  a multiple of the tile
##   Keys may be changed between the two passes: no group writes more runs than it counted.
##   With `padded` out0 and out1 are as long as the keys, and n comes after the last run. Local memory and barriers: as scan_step.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="keys" file="/keys.cl.mako"/>
<%
outputs = [f"__global {text.begins_type} *restrict out0", f"__global {text.key_type} *restrict out1", "__global long *restrict out2"]
%>
## Stores the key at a place as the run's key. ends: it is the last key of the run, else the first one; only one of the two is stored.
<%def name="store(run, at, ends)">
% if ends == last:
${keys.copy("out1", run, at)}
% endif
</%def>
## Prefetches the keys of the step after the next one.
<%def name="ask_ahead(at)">
% for place in text.lines_ahead:
            cmr_ahead_${text.key_type}(${text.key.name} + ${at} + ${place});
% endfor
</%def>
## Sets the bits of a step's pairs, which are 0 before.
<%def name="change_vectors(bits, at)">
% for k in range(0, stretch, lanes):
<% differ = text.change(f"({at} + {k})", lanes) %>
            {
                ${differ.statements}
                ${bits} |= cmr_flags_int${lanes}(${differ.parts[""]} != (int${lanes})(0)) << ${k};
            }
% endfor
</%def>
## A warp votes on neighbouring pairs, 32 to a word, so that it reads and writes contiguous memory.
<%def name="by_words()">
        const int lane = (int)(CMR_LOCAL_ID % 32);
        const idx row = begin + (step_tile + CMR_LOCAL_ID / 32 * 32) * ${stretch} + lane;
        uint ${", ".join(f"word{r} = 0" for r in range(stretch))};
% for r in range(stretch):
        if (row + ${32 * r} < end) ${keys.change(f"word{r}", f"(row + {32 * r})", 0)}
        word${r} = cmr_ballot_int((int)word${r});
% endfor
        const int count_here = ${" + ".join(f"popcount(word{r})" for r in range(stretch))};
        ${op.declare("here")}
        here_total = lane == 0 ? count_here : 0;
        ${mode.scan_step(op, "carry", "here", "before", "through")}
        idx run = (idx)before_total - (lane == 0 ? 0 : count_here);
        const uint below = (1u << lane) - 1;
% for r in range(stretch):
        if ((word${r} >> lane) & 1) {
            const idx i = row + ${32 * r}, at = run + popcount(word${r} & below);
            if (at < final) {
                ${store("at", "i", True)}
                out0[at + 1] = i + 1;
                ${store("(at + 1)", "(i + 1)", False)}
            }
        }
        run += popcount(word${r});
% endfor
</%def>
## Each item takes neighbours.
<%def name="by_stretches()">
        const idx first = begin + step * ${stretch};
        uint changes = 0;
        const idx upto = CMR_MIN(first + ${stretch}, end);
        if (live && first + ${stretch} <= end) {
% if vectors:
            ${ask_ahead("first")}
            ${change_vectors("changes", "first")}
% else:
% for k in range(stretch):
            ${keys.change("changes", f"(first + {k})", k)}
% endfor
% endif
        } else if (live) {
            for (idx i = first; i < upto; i++) { ${keys.change("changes", "i", "(i - first)")} }
        }
        ${op.declare("here")}
        here_total = CMR_COUNT(changes);
        ${mode.scan_step(op, "carry", "here", "before", "through")}
        idx run = (idx)before_total;
% if vectors:
## The first four without a branch: if there is no change, the last pair is written instead, and a later change overwrites it.
        if (run + 4 <= final) {
            const int count_here = CMR_MIN(CMR_COUNT(changes), 4);
% for k in range(4):
            {
                const idx i = first + CMR_LOWEST(changes | ${1 << (stretch - 1)}u);
                ${store(f"(run + {k})", "i", True)}
                out0[run + ${k + 1}] = i + 1;
                ${store(f"(run + {k + 1})", "(i + 1)", False)}
                changes &= changes - 1;
            }
% endfor
            run += count_here;
        }
% endif
        for (; changes && run < final; changes &= changes - 1) {
            const idx i = first + CMR_LOWEST(changes);
            ${store("run", "i", True)}
            run += 1;
            out0[run] = i + 1;
            ${store("run", "(i + 1)", False)}
        }
</%def>
${mode.open_kernel("cmr_runs", [*text.key_parameters, "__global const uchar *restrict counts", *outputs] + ["const idx n", "const idx share"])}
    ${mode.group_scratch(op)}
    const idx begin = CMR_GROUP * share, end = begin + CMR_MIN(share, n - begin);
    ${op.declare("carry")}
    ${op.declare("behind")}
    {
        ${mode.lane_span("0", "CMR_GROUP", "from", "to")}
        for (idx g = from; g < to; g++) {
            ${op.read("part", "counts", "g")}
            ${op.merge("carry", "carry", "part")}
        }
        ${mode.combine_group(op, "carry")}
    }
% if padded:
    {
        const idx groups = n > 0 ? (n - 1) / share + 1 : 1;
        ${mode.lane_span("CMR_GROUP", "groups", "from", "to")}
        for (idx g = from; g < to; g++) {
            ${op.read("part", "counts", "g")}
            ${op.merge("behind", "behind", "part")}
        }
        ${mode.sync()}
        ${mode.combine_group(op, "behind")}
        const idx first = (idx)(carry_total + behind_total);
        <%mode:each i="i" begin="(begin > first ? begin : first)" end="end">
            out0[i + 2] = n + 1;
        </%mode:each>
    }
% endif
    ${mode.sync()}
    ${op.read("own", "counts", "CMR_GROUP")}
    const idx final = (idx)(carry_total + own_total);
    const idx steps = (end - begin + ${stretch - 1}) / ${stretch};
    <%mode:each_sync i="step" live="live" end="steps">
% if subgroup == 32:
        ${by_words()}
% else:
        ${by_stretches()}
% endif
    </%mode:each_sync>
    if (${mode.is_leader()}) {
        if (begin == 0) {
            out0[0] = 0;
            ${store("0", "0", False)}
        }
        if (end == n) {
            const idx runs = final + 1;
            out0[runs] = n + 1;
            ${store("(runs - 1)", "n", True)}
            out2[0] = runs;
        }
    }
}
