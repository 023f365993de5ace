## The inputs of pairs: arrays of rows, of columns, or of neither.
<%!
def digits(variable, batch):
    """C text of where an element of the batch begins in an array: the digits of its number times their strides, an idx as every place is. With a size_t here Intel's
    compiler took ten times as long to build long texts (K least of vectors)."""
    terms, rest = [], f"({batch})"
    for d in reversed(range(variable.rank)):
        digit = f"({rest} % {variable.name}_size{d})" if d else rest
        terms.append(f"{digit} * {variable.name}_stride{d}")
        rest = f"({rest} / {variable.name}_size{d})"
    return " + ".join(terms)
%>
## Moves some inputs to their part for one element of the batch.
<%def name="offset(inputs, batch)">
% for variable in inputs:
% if variable.rank:
${variable.name} += ${digits(variable, batch)};
% endif
% endfor
</%def>
