## The inputs of pairs: arrays of rows, of columns, or of neither.
<%!
def digits(given, batch):
    """C text of where an element of the batch begins in an array: the digits of its number times their strides, an idx as every place is. With a size_t here Intel's
    compiler took ten times as long to build long texts (K least of vectors)."""
    terms, rest = [], f"({batch})"
    for d in reversed(range(given.rank)):
        digit = f"({rest} % {given.name}_size{d})" if d else rest
        terms.append(f"{digit} * {given.name}_stride{d}")
        rest = f"({rest} / {given.name}_size{d})"
    return " + ".join(terms)
%>
## Moves some inputs to their part for one element of the batch.
<%def name="offset(inputs, batch)">
% for given in inputs:
% if given.rank:
${given.name} += ${digits(given, batch)};
% endif
% endfor
</%def>
