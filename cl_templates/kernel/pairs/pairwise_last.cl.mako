## cmr_pairwise_last: the results of sums that were made relative to the rows' marks.
##   A group makes `share` of them.
##   marks [row][…]      sums [row][${"size"}]      out…      total  sums      share
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="outputs" file="/outputs.cl.mako"/>
<%
result = last.result
*leading, own = result.texts  # what a row gets once, and what for every sum
base = f"(size_t)row * {len(leading) + last.size}"
%>
${mode.open_kernel("cmr_pairwise_last", last.parameters + ["const idx total", "const idx share"])}
    const idx begin = CMR_GROUP * share, end = min(total, (idx)(begin + share));
    <%mode:each i="at" begin="begin" end="end">
        const idx row = at / ${last.size}, d = at % ${last.size};
% for k, (type, name) in enumerate(last.accumulator):
        const ${type} ${name} = ${f"marks[row * {last.marks} + {k}]" if k + 1 < len(last.accumulator) else "sums[at]"};
% endfor
        ${result.statements}
% for k, text in enumerate(leading):
        if (d == 0) ${outputs.store_number(result.array, f"{base} + {k}", text)}
% endfor
        ${outputs.store_number(result.array, f"{base} + {len(leading)} + d", own)}
    </%mode:each>
}
