## The mode vocabulary for one work-item per group: plain loops, private arrays, no barriers.
## Opens the kernel's body.
<%def name="open_kernel(name, parameters, items=None)">
#define CMR_LOCAL_ID 0
#define CMR_GROUP ((idx)(get_group_id(0) + get_global_offset(0) + get_global_offset(1) + (get_global_offset(2) << 30)))
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void ${name}(${", ".join(parameters)}) {
</%def>
<%def name="each(i, begin, end)">
for (idx ${i} = ${begin}; ${i} < ${end}; ${i}++) {
${caller.body()}
}
</%def>
<%def name="each_sync(i, live, end)">
for (idx ${i} = 0; ${i} < ${end}; ${i}++) {
const int ${live} = 1;
${caller.body()}
}
</%def>
<%def name="scan_step(op, carry, value, before, upto, name='scratch', lanes=1)">
${op.copy(before, carry, lanes)}
${op.merge(carry, carry, value, lanes)}
${op.copy(upto, carry, lanes)}
</%def>
<%def name="lane_span(begin, end, first, last)">
const idx ${first} = ${begin}, ${last} = ${end};
</%def>
<%def name="local_array(name)"><% array = local_arrays[name] %>${array.ctype} ${name}[${array.count}];</%def>
<%def name="group_scratch(op, name='scratch')"></%def>
<%def name="combine_warp(op, acc)"></%def>
<%def name="combine_group(op, acc, name='scratch', first=0)"></%def>
<%def name="scan_group(op, rows, name='scratch')">
% for k in range(rows):
${op.declare(f"before{k}")}
${op.copy(f"row{k}", f"total{k}")}
% endfor
</%def>
<%def name="is_leader()">1</%def>
<%def name="sync()"></%def>
<%def name="from_lower(op, target, acc, distance, name='scratch')">
${op.copy(target, acc)}
</%def>
<%def name="all_from_lower(op, accs, distance, name='scratch')">
% for target, acc in accs.items():
${op.copy(target, acc)}
% endfor
</%def>
<%def name="from_item(op, target, acc, item, name='scratch')">
${op.copy(target, acc)}
</%def>
<%def name="all_from_item(op, accs, item, name='scratch')">
% for target, acc in accs.items():
${op.copy(target, acc)}
% endfor
</%def>
