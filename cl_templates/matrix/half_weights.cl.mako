## Defs of kernels that cut long weights into pieces of 16 bits.
## Stores the pieces of w0 and w1, scaled, as those of the columns k, k + 1 of place n of a stage.
<%def name="put_pieces(weights, stage, n, k)">
<% word = weights.word(n, k) %>
% for c in range(2):
const float h${c} = cmr_half_round_float(w${c});
% endfor
const uint high = cmr_half_pair_float(h0, h1), low = cmr_half_pair_float(w0 - h0, w1 - h1);
${stage}[${word}] = ${"high" if weights.folded is None else f"({n} >= {8 * weights.folded + 4} ? low : high)"};
${stage}[${word} + 2] = low;
</%def>
