## Defs of kernels that list the nearest columns by products of matrix instructions.
## Declares `way`: 1 for the least products, -1 for the greatest.
<%def name="declare_way(way)">
<% slope = way.slope %>
float way;
{ ${slope.statements} way = 0.0f ${"<" if way.least else ">"} ${slope.text} ? 1.0f : -1.0f; }
</%def>
