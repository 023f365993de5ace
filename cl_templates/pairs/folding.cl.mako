## Absorbs values of pairs into an accumulator; the rare work of an operator is inside a condition.
## Absorbs the pairs of row vector v and the columns at some indices, whose terms are declared as those of the columns first, first + 1, …, into `acc`.
<%def name="absorb(pairs, acc, v, at, op, first=0)">
<% computed = pairs.values_of([(v, c) for c in range(first, first + len(at))]) %>
${computed.statements}
${fold(pairs, acc, at, op, computed.texts)}
</%def>
## The same of several row vectors: into the accumulators `acc` and the vector's number. values: the function of several row vectors and columns, if it is not
## pairs.values_of.
<%def name="absorb_rows(pairs, acc, vectors, at, op, first=0, values=None)">
% for part in pairs.together(list(vectors), len(at)):
<%
places = [(v, c) for v in part for c in range(first, first + len(at))]
computed = (values or pairs.values_of)(places)
%>
{
${computed.statements}
% for n, v in enumerate(part):
${fold(pairs, f"{acc}{v}", at, op, computed.texts[n * len(at) : (n + 1) * len(at)])}
% endfor
}
% endfor
</%def>
## Absorbs values, which are texts by column.
<%def name="fold(pairs, acc, at, op, texts)">
<% folding = pairs.folding(op, acc, texts, at) %>
% if not folding.rare:
${assign(folding.usual)}
% elif folding.one_by_one:
<% any_column = folding.condition %>
{ ${any_column.statements}
if (${any_column.text}) {
% for c in folding.columns:
${fold_guarded(folding, [c])}
% endfor
} }
% else:
${fold_guarded(folding, folding.columns)}
% endif
</%def>
## Statements in a separate scope, if there are any.
<%def name="assign(statements)">
% if statements:
{
${statements}
}
% endif
</%def>
## The usual work is in both branches, because there it may share values with the condition.
<%def name="fold_guarded(folding, columns)">
<% step = folding.guarded(columns) %>
{ ${step.condition.statements}
if (${step.condition.text}) {
${assign(step.adjust)}
${assign(step.absorb)}
% if step.usual:
} else {
${assign(step.usual)}
% endif
} }
</%def>
