## The terms of a tile of columns in local memory: an array for each pack of terms. Those of another text are declared by it.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%def name="declare_tile(pairs)">
% for pack in pairs.packs:
% if pack.own:
${mode.local_array(pack.array)}
% endif
% endfor
</%def>
## Stores the terms of the column at an index into the tile.
<%def name="stage(pairs, at, slot)">
{
${pairs.column(0, at)}
% for p, pack in enumerate(pairs.packs):
<%
names = [f"y0_{k}" for k in pack.terms]
names += [names[-1]] * (pack.width - len(names))
%>
${pack.array}[${slot}] = ${names[0] if pack.width == 1 else f"({pack.type})({', '.join(names)})"};
% endfor
}
</%def>
## Declares the terms of a column of the tile as those of column c.
<%def name="read(pairs, c, slot)">
% for p, pack in enumerate(pairs.packs):
const ${pack.type} yt${c}_${p} = ${pack.array}[${slot}];
% for place, k in enumerate(pack.terms):
const ${pack.number} y${c}_${k} = yt${c}_${p}${f".s{place:x}" if pack.width > 1 else ""};
% endfor
% endfor
</%def>
