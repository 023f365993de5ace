## What kernels share that multiply scalars by long weights with matrix instructions; `item` and `lane` are declared.
## Adds the products of a tile's scalars and its weights to the item's numbers. mode: the vocabulary. Barriers: 1, where items do not hold operands.
<%def name="multiply(mode, weighted)">
${"\n".join(weighted.hold())}
% if not weighted.registers:
${mode.sync()}
% endif
${"\n".join(weighted.expand())}
</%def>
## The end: stores the item's numbers, or leaves them to the merging launch; makes `odd` 1 where one is not finite. domain: the vocabulary.
<%def name="store(domain, weighted, partial)">
% for v in weighted.warps.mine:
{
    const idx mine = ${weighted.warps.row(v)};
    ${weighted.note(v)}
% for b in range(weighted.box.numbers):
% for c in range(2):
<%
d, acc = weighted.number(b, c), weighted.acc(v, b, c)
live = [f"{weighted.warps.inside(v)} && {d} < {weighted.size}"]
finished = weighted.pairs.finish(acc, 1, [f"(size_t)(batch * rows + mine) * {weighted.size} + {d}"], live, "reduced")
%>
    ${domain.results(partial, finished, f"if ({live[0]}) ((__global float *)parts)[(kept + mine) * {weighted.size} + {d}] = {acc}_total0;")}
% endfor
% endfor
}
% endfor
</%def>
