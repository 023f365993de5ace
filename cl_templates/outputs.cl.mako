## Stores results: `lanes` neighbouring numbers from a place of an output on, or a record.
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
## Stores a number at a place of an output, whose dtype may be narrower than that of the computation.
<%def name="store_number(array, at, number)">
% if array.of_halves:
cmr_store_half_float(${array.name}, ${at}, ${number});
% elif array.of_bfloats:
${array.name}[${at}] = cmr_bfloat_bits_float(${number});
% else:
${array.name}[${at}] = ${number};
% endif
</%def>
