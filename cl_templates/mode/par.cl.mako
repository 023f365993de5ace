## The mode vocabulary for `block` work-items per group: items share loops, arrays are local, trees of barriers are unrolled.
## No barrier is in a branch or in a run-time tree loop: PoCL 3.0 and 3.1 miscompile both (see docs/concepts/architecture.md, traps).
## subgroup: how many work-items can exchange registers without a barrier (1 where the vendor vocabulary has no shuffles). attribute: the vocabulary's
## text for that number in a kernel's head.
## CMR_GROUP: the group's number in the whole launch. A long launch is cut into pieces; the global offset tells the first group of a piece: in items, or
## behind 2^31 items on drivers whose kernels see short offsets, in groups by the other dimensions.
## items: of a group that consists of several blocks of `block` items, which do not synchronise. registers: a limit, which NVIDIA's compiler obeys only in
## kernels that do not require a group size.
## Opens the kernel's body. gates: (place, whether set) of more arrays, `gate0` and so on: the kernel has something to do where all numbers there are so; else groups may end at once.
<%def name="open_kernel(name, parameters, items=None)">
#define CMR_LOCAL_ID ((idx)get_local_id(0))
<% group = f"((idx)(get_group_id(0) + get_global_offset(0) / {items or block} + get_global_offset(1) + (get_global_offset(2) << 30)))" %>
#define CMR_GROUP ${"row_group" if per_row else group}
__kernel ${"" if registers else f"__attribute__((reqd_work_group_size({items or block}, 1, 1)))"}${attribute(subgroup) if subgroup > 1 else ""}
<%
more = [f"__global const int *restrict gate{k}" for k in range(len(gates))] + (["const idx row_length", "const idx row_groups"] if per_row else [])
%>
void ${name}(${", ".join(parameters + more)}) {
% if gates:
cmr_end_unless_int(${" && ".join(f"{'' if is_set else '!'}gate{k}[{place}]" for k, (place, is_set) in enumerate(gates))});
% endif
% if per_row:
const idx row = ${group} / row_groups, row_group = ${group} - row * row_groups;
% for array, elements in per_row:
${array} += (size_t)row * ${elements};
% endfor
% endif
</%def>
## Where the count is known and small, one guarded statement per round: PoCL takes seconds to build a loop between barriers.
<%def name="each(i, begin, end)">
% if str(begin) == "0" and str(end).isdigit() and int(end) <= 4 * block:
% for k in range(0, int(end), block):
{ const idx ${i} = ${k} + (idx)get_local_id(0);
% if k + block > int(end):
if (${i} < ${end})
% endif
{
${caller.body()}
} }
% endfor
% else:
for (idx ${i} = ${begin} + (idx)get_local_id(0); ${i} < ${end}; ${i} += ${block}) {
${caller.body()}
}
% endif
</%def>
## All items take every turn, so that the loop may contain barriers. After the end an item stays at the last element and is not `live`.
<%def name="each_sync(i, live, end)">
for (idx ${i}_tile = 0; ${i}_tile < ${end}; ${i}_tile += ${block}) {
const int ${live} = ${i}_tile + (idx)get_local_id(0) < ${end};
const idx ${i} = ${live} ? ${i}_tile + (idx)get_local_id(0) : ${end} - 1;
${caller.body()}
}
</%def>
## One turn of a scan inside each_sync: declares `before` and `upto`, the merge of all values before the item's and of those up to it.
<%def name="scan_step(op, carry, value, before, upto, name='scratch', lanes=1)">
${op.copy(before, carry)}
${op.copy(upto, carry)}
{
${op.copy("total0", value)}
${scan_group(op, 1, name)}
${op.merge(before, carry, "before0")}
${op.merge(upto, before, value)}
${op.merge(carry, carry, "row0")}
}
</%def>
<%def name="lane_span(begin, end, first, last)">
const idx span_${first} = ((${end}) - (${begin}) + ${block - 1}) / ${block};
const idx ${first} = min((idx)(${end}), (idx)((${begin}) + (idx)get_local_id(0) * span_${first}));
const idx ${last} = min((idx)(${end}), (idx)(${first} + span_${first}));
</%def>
## Declares an array of `local_arrays`, on a separate line.
<%def name="local_array(name)"><% array = local_arrays[name] %>__local ${array.ctype} ${name}[${array.count}]${" __attribute__((aligned(16)))" if array.aligned else ""};</%def>
<%def name="group_scratch(op, name='scratch')">
% for part, _ in op.parts:
${local_array(f"{name}_{part}")}
% endfor
</%def>
<%def name="_to_scratch(op, acc, at, name)">
% for part, type in op.parts:
${name}_${part}[${at}] = ${acc}_${part};
% endfor
</%def>
<%def name="_from_scratch(op, acc, at, name, declare=False)">
% for part, type in op.parts:
${type if declare else ""} ${acc}_${part} = ${name}_${part}[${at}];
% endfor
</%def>
<%def name="_shuffled(op, name, acc, function, distance)">
% for part, type in op.parts:
${type} ${name}_${part} = cmr_${function}_${type}(${acc}_${part}, ${distance});
% endfor
</%def>
## The `acc` of a warp's first item becomes acc of its item 0 ∘ … ∘ acc of its last one; the others are undefined.
<%def name="combine_warp(op, acc)">
% for d in [2**e for e in range(min(subgroup, block).bit_length() - 1)]:
{
${_shuffled(op, "next", acc, "shuffle_down", d)}
${op.merge(acc, acc, "next")}
}
% endfor
</%def>
## Every item's `acc` becomes acc of item 0 ∘ … ∘ acc of item block−1. Neighbours merge first, so order is kept.
<%def name="combine_group(op, acc, name='scratch', first=0)">
<% width = min(subgroup, block) %>
${combine_warp(op, acc)}
% if width < block:
if (get_local_id(0) % ${width} == 0) { ${_to_scratch(op, acc, f"get_local_id(0) / {width}", name)} }
barrier(CLK_LOCAL_MEM_FENCE);
<% parts = block // width %>
% for d in [2**e for e in range(parts.bit_length() - 1)]:
if (get_local_id(0) < ${parts} && get_local_id(0) % ${2 * d} == 0) {
${_from_scratch(op, "left", "get_local_id(0)", name, declare=True)}
${_from_scratch(op, "right", f"get_local_id(0) + {d}", name, declare=True)}
${op.merge("left", "left", "right")}
${_to_scratch(op, "left", "get_local_id(0)", name)}
}
barrier(CLK_LOCAL_MEM_FENCE);
% endfor
${_from_scratch(op, acc, 0, name)}
barrier(CLK_LOCAL_MEM_FENCE);
% else:
{
${_shuffled(op, "first", acc, "shuffle_first", first)}
% for part, type in op.parts:
${acc}_${part} = first_${part};
% endfor
}
% endif
</%def>
## For each row k: declares `before{k}`, the merge of total{k} over the items before this one, and `row{k}`, over all items. Few totals (those of
## warps, or of small groups) are merged by every item for itself, more of them in log2 steps.
<%def name="scan_group(op, rows, name='scratch')">
<% width = min(subgroup, block) %>
% for k in range(rows):
${op.copy(f"upto{k}", f"total{k}")}
% for d in [2**e for e in range(width.bit_length() - 1)]:
{
${_shuffled(op, "prior", f"upto{k}", "shuffle_up", d)}
if (get_local_id(0) % ${width} >= ${d}) { ${op.merge(f"upto{k}", "prior", f"upto{k}")} }
}
% endfor
% endfor
<% parts = block // width %>
% for k in range(rows):
if (get_local_id(0) % ${width} == ${width - 1}) { ${_to_scratch(op, f"upto{k}", f"{k * parts} + get_local_id(0) / {width}", name)} }
% endfor
barrier(CLK_LOCAL_MEM_FENCE);
% if parts > 32:
% for d in [2**e for e in range(parts.bit_length() - 1)]:
% for k in range(rows):
${op.copy(f"here{k}_{d}", f"upto{k}")}
if (get_local_id(0) >= ${d}) {
${_from_scratch(op, "prior", f"{k * parts} + get_local_id(0) - {d}", name, declare=True)}
${op.merge(f"here{k}_{d}", "prior", f"here{k}_{d}")}
}
% endfor
barrier(CLK_LOCAL_MEM_FENCE);
% for k in range(rows):
% for part, type in op.parts:
upto${k}_${part} = here${k}_${d}_${part};
% endfor
${_to_scratch(op, f"upto{k}", f"{k * parts} + get_local_id(0)", name)}
% endfor
barrier(CLK_LOCAL_MEM_FENCE);
% endfor
% for k in range(rows):
${op.declare(f"before{k}")}
if (get_local_id(0) > 0) { ${_from_scratch(op, f"before{k}", f"{k * parts} + get_local_id(0) - 1", name)} }
${_from_scratch(op, f"row{k}", f"{k * parts} + {parts - 1}", name, declare=True)}
% endfor
% else:
% for k in range(rows):
${op.declare(f"before{k}")}
${op.declare(f"row{k}")}
% for w in range(parts):
{
${_from_scratch(op, "group", f"{k * parts + w}", name, declare=True)}
if (get_local_id(0) / ${width} == ${w}) {
% for part, type in op.parts:
before${k}_${part} = row${k}_${part};
% endfor
}
${op.merge(f"row{k}", f"row{k}", "group")}
}
% endfor
{
${_shuffled(op, "prior", f"upto{k}", "shuffle_up", 1)}
if (get_local_id(0) % ${width} > 0) { ${op.merge(f"before{k}", f"before{k}", "prior")} }
}
% endfor
% endif
barrier(CLK_LOCAL_MEM_FENCE);
</%def>
<%def name="is_leader()">(get_local_id(0) == 0)</%def>
<%def name="sync()">
% if block <= subgroup:
cmr_warp_sync_int();
% else:
barrier(CLK_LOCAL_MEM_FENCE);
% endif
</%def>
## Declares `target` as the `acc` of the item `distance` places before; it is undefined for the first items.
<%def name="from_lower(op, target, acc, distance, name='scratch')">
${all_from_lower(op, {target: acc}, distance, name)}
</%def>
## The same for several at once. accs: the `acc` of each target. The scratch has room for that many per item.
<%def name="all_from_lower(op, accs, distance, name='scratch')">
% if block <= subgroup:
% for target, acc in accs.items():
${_shuffled(op, target, acc, "shuffle_up", distance)}
% endfor
% else:
barrier(CLK_LOCAL_MEM_FENCE);
% for k, acc in enumerate(accs.values()):
${_to_scratch(op, acc, f"{f'{k * block} + ' if k else ''}get_local_id(0)", name)}
% endfor
barrier(CLK_LOCAL_MEM_FENCE);
<% lower = f"(get_local_id(0) < {distance} ? 0 : get_local_id(0) - {distance})" %>
% for k, target in enumerate(accs):
${_from_scratch(op, target, f"{f'{k * block} + ' if k else ''}{lower}", name, declare=True)}
% endfor
% endif
</%def>
## Declares `target` as the `acc` of one item.
<%def name="from_item(op, target, acc, item, name='scratch')">
${all_from_item(op, {target: acc}, item, name)}
</%def>
## The same for several at once, as all_from_lower.
<%def name="all_from_item(op, accs, item, name='scratch')">
% if block <= subgroup:
% for target, acc in accs.items():
${_shuffled(op, target, acc, "shuffle_first", item)}
% endfor
% else:
barrier(CLK_LOCAL_MEM_FENCE);
% for k, acc in enumerate(accs.values()):
${_to_scratch(op, acc, f"{f'{k * block} + ' if k else ''}get_local_id(0)", name)}
% endfor
barrier(CLK_LOCAL_MEM_FENCE);
% for k, target in enumerate(accs):
${_from_scratch(op, target, f"{f'{k * block} + ' if k else ''}{item}", name, declare=True)}
% endfor
% endif
</%def>
