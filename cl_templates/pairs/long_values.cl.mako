## Long values of pairs: at every coordinate a term of the pair's scalars and of factors of row and column. wide: the pair with its expansion.
## Adds one coordinate of one pair to a sum; its parts are texts.
<%def name="add(wide, total, lanes, scalars, rows, columns)">
<% term = wide.long_term(lanes, scalars, rows, columns) %>
{ ${term.statements} ${total} = ${total} + ${term.text}; }
</%def>
## Declares `weight`, the factor of a column at number d; 0 after the last number. part: which of the expansion's columns.
<%def name="declare_weight(wide, column, d, part=0)">
<% variable = wide.long_column(0, column, d) %>
float weight = 0.0f;
if (${column} < columns && ${d} < ${wide.expansion.size}) {
${wide.uniforms()}
${wide.column(0, column)}
${variable.statements}
weight = ${variable.texts[part]};
}
</%def>
