## cmr_cell_moves: rows of arrays to the order of their cells, or back. A group takes `share` rows.
##   places, gate0  as in cmr_cell_places      from…  arrays as they are      to…  the same in the other order      rows      share      begin  where the rows' order begins
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%
arrays = [text for k, one in enumerate(moved) for text in (f"__global const {one.type} *restrict from{k}", f"__global {one.type} *restrict to{k}")]
here, there = ("order[at / {0}] * {0} + at % {0}", "at") if back else ("at", "order[at / {0}] * {0} + at % {0}")
%>
${mode.open_kernel("cmr_cell_moves", ["__global const idx *restrict places"] + arrays + ["const idx rows", "const idx share", "const idx begin"])}
    __global const idx *order = places + begin;
    const idx first = CMR_GROUP * share, last = gate0[1] ? min(rows, (idx)(first + share)) : first;
% for k, one in enumerate(moved):
    <%mode:each i="at" begin="${f'first * {one.width}'}" end="${f'last * {one.width}'}">
        to${k}[${here.format(one.width)}] = from${k}[${there.format(one.width)}];
    </%mode:each>
% endfor
}
