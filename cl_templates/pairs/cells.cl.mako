## Values of pairs of cells, from the squared distances between which a row and a column lie.
## Declares the bounds of every value, `low{k}` and `high{k}`. bounds: their statements (schemes/pairs/cells). least, most: C text of the distances.
<%def name="declare_bounds(bounds, least, most)">
const float nearest = ${least}, furthest = ${most};
const float least_square = nearest * nearest, greatest_square = furthest * furthest;
${bounds.statements}
% for k, text in enumerate(bounds.texts):
const float ${("low", "high")[k % 2]}${k // 2} = ${text};
% endfor
</%def>
<%!
def all_zero(bounds):
    """C text of whether all values are 0."""
    return " && ".join(f"low{k} == 0 && high{k} == 0" for k in range(len(bounds.texts) // 2))
%>
