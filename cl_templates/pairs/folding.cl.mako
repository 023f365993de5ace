## Absorbs values of pairs into an accumulator; the rare work of an operator is inside a condition.
## Absorbs the pairs of row vector v and the columns at some indices, whose terms are declared as those of the columns first, first + 1, …, into `acc`.
## values: the function of a row vector and a column, if it is not pairs.values.
<%def name="absorb(pairs, acc, v, at, op, first=0, values=None)">
<% computed = [(values or pairs.values)(v, c) for c in range(first, first + len(at))] %>
% for each in computed:
${each.statements}
% endfor
${fold(pairs, acc, at, op, [each.texts for each in computed])}
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
