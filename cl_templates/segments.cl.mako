## Defs of kernels over segments: their parameters, where segments begin, and the pieces that chunks store for segments that they share:
## two accumulators per chunk and column in `parts`, and two segments per chunk in `places`.
<%namespace name="outputs" file="/outputs.cl.mako"/>
<%!
def place(text, number, column):
    return f"((size_t)({number}) * columns + {column})" if text.columned else f"({number})"
def pieces(const=""):
    return [f"__global {const}uchar *restrict parts", f"__global {const}idx *restrict places"]
def parameters(text, partial):
    offsets = f"__global const {text.offset} *restrict offsets"
    return [*text.element_parameters, *text.value_parameters, offsets, text.output_parameter, *(pieces() if partial else [])]
def join_parameters(text):
    offsets = [f"__global const {text.offset} *restrict offsets"] if text.edges else []
    return [*text.value_parameters, *offsets, text.output_parameter, *pieces("const ")]
%>
## Where an existing segment begins, or, after the last one, where the elements end. It is not used without edges.
<%def name="start(segment)" buffered="True" filter="trim">
% if not text.edges:
0
% elif text.closed:
cmr_within((idx)offsets[${segment}], n)
% else:
cmr_edge(offsets, ${segment}, segments, n)
% endif
</%def>
## Whether an existing segment ends before it begins, by all bits of its offsets.
<%def name="falls(segment)">
% if text.closed:
offsets[${segment} + 1] < offsets[${segment}]
% else:
(${segment} + 1 < segments ? (long)offsets[${segment} + 1] : (long)n) < (long)offsets[${segment}]
% endif
</%def>
## Stores an accumulator of `lanes` columns as a piece.
<%def name="write_piece(number, column, acc, lanes=1)">
<% op = text.whole %>
{
% if lanes == 1:
    ${op.write("parts", place(text, number, column), acc)}
% else:
% for lane in range(lanes):
% for part, type in op.parts:
    ${type} lane${lane}_${part} = ${acc}_${part}.s${f"{lane:x}"};
% endfor
    ${op.write("parts", place(text, number, f"{column} + {lane}" if lane else column), f"lane{lane}")}
% endfor
% endif
}
</%def>
## Declares `acc` as a piece.
<%def name="read_piece(acc, number, column)">
${text.whole.read(acc, "parts", place(text, number, column))}
</%def>
## Stores a segment's result, of `lanes` columns from one on. acc: the accumulator of all its elements, `begin` to before `end`; of a tile, or between
## tiles.
<%def name="store(acc, segment, begin, end, column, lanes=1, tile=False)">
<% at = f"({segment}) * columns + {column}" if text.columned else f"({segment})" %>
${outputs.store(text.results, text.result(acc, begin, end, column, lanes, tile), at, lanes)}
</%def>
