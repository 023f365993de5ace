## Defs of kernels of pairs: accumulators of tiles of columns, accumulators in memory for the launch that merges, and results.
## pairs: the statements of formulas and operator (schemes/pairs/parts). acc: the name of an accumulator; v: the number of a row vector.
<%namespace name="outputs" file="/outputs.cl.mako"/>
## Declares part{v}, the accumulator of a tile of columns, if the operator has such.
<%def name="open_tile(pairs, v)">
<% seed = pairs.seed(v) %>
${seed.statements}
% for one in seed.variables:
${one.type} ${one.name} = ${one.text};
% endfor
</%def>
## Merges it into acc{v}.
<%def name="close_tile(pairs, v)">
{
${pairs.tile_merge(v)}
}
</%def>
<%!
def array(one, total, const=""):
    """C text of the array in `parts` that has a number of every accumulator."""
    return f"((__global {const}{one.type} *)(parts + (size_t){one.before} * {total}))"
%>
## Stores the live lanes of `acc` in `parts`: one array of `total` numbers after the other, for each component. Lane by lane at `rows` + at.
<%def name="leave(pairs, acc, rows, at, live, total)" buffered="True">
% for one in pairs.left_numbers:
% for lane, (place, alive) in enumerate(zip(at, live)):
if (${alive}) ${array(one, total)}[${rows} + ${place}] = ${acc}_${one.name}${f".s{lane:x}" if len(at) > 1 else ""};
% endfor
% endfor
</%def>
## Declares `acc` as number `at` of them.
<%def name="load(pairs, acc, at, total)">
% for one in pairs.left_numbers:
${one.type} ${acc}_${one.name} = ${array(one, total, "const ")}[${at}];
% endfor
</%def>
## Stores the results of the lanes of `acc`: row `at[lane]` of every output where it is live. count: C text of the columns that were reduced.
<%def name="finish(pairs, acc, lanes, at, live, count)" buffered="True">
{
% for result in pairs.results(acc, lanes, count):
${result.statements}
% for d, text in enumerate(result.texts):
% for lane in range(lanes):
<%
width = len(result.texts)
place = f"(size_t)({at[lane]}) * {width} + {d}" if width > 1 else at[lane]
%>
if (${live[lane]}) ${outputs.store_number(result.array, place, f"({text}).s{lane:x}" if lanes > 1 else text)}
% endfor
% endfor
% endfor
}
</%def>
