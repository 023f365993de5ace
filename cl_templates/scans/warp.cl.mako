## Accumulators of a warp, whose `subgroup` items pass registers to each other.
## Declares `target` as the accumulator of the item `distance` before; undefined in the first items.
<%def name="lower(op, target, acc, distance)">
% for part, kind in op.parts:
        ${kind} ${target}_${part} = cmr_shuffle_up_${kind}(${acc}_${part}, ${distance});
% endfor
</%def>
## Declares `target` as the accumulator of one item.
<%def name="of_item(op, target, acc, item)">
% for part, kind in op.parts:
        ${kind} ${target}_${part} = cmr_shuffle_first_${kind}(${acc}_${part}, ${item});
% endfor
</%def>
## Merges into `acc` those of the items before, among the first `count` items; `lane` is the item.
<%def name="scanned(op, acc, count)">
% for d in [2**e for e in range((count - 1).bit_length())]:
    {
        ${lower(op, "prior", acc, d)}
        if (lane >= ${d}) { ${op.merge(acc, "prior", acc)} }
    }
% endfor
</%def>
## Declares `target` as the merge of what was scanned in the items before.
<%def name="before(op, target, acc)">
    ${lower(op, target, acc, 1)}
    if (lane == 0) { ${op.reset(target)} }
</%def>
## Moves an accumulator to, or from, arrays in local memory.
<%def name="store(op, name, at, acc)">
% for part, _ in op.parts:
        ${name}_${part}[${at}] = ${acc}_${part};
% endfor
</%def>
<%def name="fetch(op, acc, name, at)">
% for part, _ in op.parts:
        ${acc}_${part} = ${name}_${part}[${at}];
% endfor
</%def>
