## Sums over the coordinates of long vectors: q{v}_{c}_{k} is contraction k of row vector v and column c.
## Declares private arrays of the rows' long vectors, coordinate by coordinate. places: of the rows of every vector. todo: C text of the condition that needs them.
<%def name="keep_rows(pairs, places, todo='')">
<% vectors = len(places) %>
% for one in pairs.long_rows(places):
${one.type} ${one.name}[${one.size * vectors}];
${f"if ({todo})" if todo else ""} for (int d = 0; d < ${one.size}; d++) {
% for v, text in enumerate(one.texts):
${one.name}[d * ${vectors} + ${v}] = ${text};
% endfor
}
% endfor
</%def>
## Declares and computes the contractions of all pairs of some row vectors and columns (their places). held: the number of all row vectors, if it is larger.
<%def name="contract(pairs, vectors, columns, held=0)">
<% places = [(v, c) for c in range(len(columns)) for v in range(vectors)] %>
% for k, one in enumerate(pairs.contractions):
% for v, c in places:
${one.type} q${v}_${c}_${k} = ${one.zero};
% endfor
for (int d = 0; d < ${one.size}; d++) {
% for number in pairs.coordinates(k, vectors, columns, held or vectors):
const ${number.type} ${number.name} = ${number.text};
% endfor
${add(pairs, k, places)}
}
% endfor
</%def>
## Adds one coordinate of some pairs to contraction k. Coordinates are called w{input}_{v} for row vector v, w{input}_c{c} for a column, w{input} for a parameter.
<%def name="add(pairs, k, places)">
% for v, c in places:
<% term = pairs.term(k, v, c) %>
{ ${term.statements} q${v}_${c}_${k} = q${v}_${c}_${k} + ${term.text}; }
% endfor
</%def>
