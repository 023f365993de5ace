## cmr_pairwise_last: the results of sums that were made relative to the rows' marks.
##   A group makes `share` of them.
##   marks [split][row][…]      sums [split][row][${"size"}]      out…      given_up  not 0 where they are left as they are      rows      splits  shares of the columns
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="outputs" file="/outputs.cl.mako"/>
<%
result, *once = last.results
*leading, own = result.texts  # what a row gets once, and what for every sum
base = f"(size_t)row * {len(leading) + last.size}"
%>
## Declares an accumulator of one share of the columns.
<%def name="load(name, split)">
% for k, (type, component) in enumerate(last.accumulator):
${type} ${name}_${component} = ${f"marks[((size_t)({split}) * rows + row) * {last.marks} + {k}]" if k + 1 < len(last.accumulator) else f"sums[(size_t)({split}) * total + at]"};
% endfor
</%def>
${mode.open_kernel("cmr_pairwise_last", last.parameters + (["__global const int *restrict given_up"] if unless else []) + ["const idx rows", "const idx splits", "const idx share"])}
    const idx total = rows * ${last.size}, begin = CMR_GROUP * share, end = ${"given_up[0] ? begin : " if unless else ""}min(total, (idx)(begin + share));
    <%mode:each i="at" begin="begin" end="end">
        const idx row = at / ${last.size}, d = at % ${last.size};
        ${load("acc", "0")}
        for (idx split = 1; split < splits; split++) {
            ${load("next", "split")}
            ${last.operator.merge("acc", "acc", "next")}
        }
        ${result.statements}
% for k, text in enumerate(leading):
        if (d == 0) ${outputs.store_number(result.array, f"{base} + {k}", text)}
% endfor
% for other in once:
% for k, text in enumerate(other.texts):
        if (d == 0) ${outputs.store_number(other.array, f"(size_t)row * {len(other.texts)} + {k}", text)}
% endfor
% endfor
        ${outputs.store_number(result.array, f"{base} + {len(leading)} + d", own)}
    </%mode:each>
}
