## Stores what is computed: `lanes` numbers side by side from a place of an output on, or a record.
<%def name="store(array, value, at, lanes=1)">
{
    ${value.statements}
% if array.of_records:
% for leaf, part in value.parts.items():
    ${array.field(at, leaf)} = ${part};
% endfor
% elif lanes == 1:
    ${array.name}[${at}] = ${value.parts[""]};
% else:
    CMR_STORE(${array.type(lanes)}, ${array.name} + (${at}), ${value.parts[""]});
% endif
}
</%def>
