## Numbers of a group's lines, one line for each item, in the local array `numbers`: some coordinates at a time, so that neighbours in memory are read by
## neighbouring items. chunk: how they lie there.
## Fills it with the coordinates of chunk `number`, and with 0 behind the last one. The body sets v to that of line number `line` of the group at coordinate d. An item
## has several of them on their way at once.
<%def name="fill(mode, chunk, number, size)">
for (int turn = 0; turn < ${chunk.width}; turn += ${chunk.at_once}) {
% for n in range(chunk.at_once):
    ${chunk.kind} v${n};
    {
        ${_place(chunk, n)}
        const int own = ${number} * ${chunk.width} + place % ${chunk.width}, d = min(own, ${size - 1});
        ${chunk.kind} v;
        ${caller.body()}
        v${n} = own < ${size} ? v : 0;
    }
% endfor
% for n in range(chunk.at_once):
    {
        ${_place(chunk, n)}
        ${of(chunk, "line", f"place % {chunk.width}")} = v${n};
    }
% endfor
}
${mode.sync()}
</%def>
## Number k of a line, and of the item's own line.
<%def name="of(chunk, line, k)">numbers[(${line}) * ${chunk.pitch} + ${k}]</%def>
<%def name="own(chunk, k)">${of(chunk, "(int)get_local_id(0)", k)}</%def>
<%def name="_place(chunk, n)">
const int place = (turn + ${n}) * ${chunk.lines} + (int)get_local_id(0), line = place / ${chunk.width};
</%def>
