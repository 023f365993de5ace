## What kernels with matrix instructions share. `warps` says which rows an item computes; `item`, `lane` and `warp` are declared.
## The end: the items that share a row merge their accumulators acc0, acc1, …, and one of them stores the result, or leaves it to the merging launch.
## mode, domain: the vocabularies. Barriers: as from_item.
<%def name="meet(mode, domain, pairs, warps, partial)">
% for v in warps.mine:
% for distance in warps.sharers:
    {
        ${mode.from_item(pairs.outer, "next", f"acc{v}", f"(item ^ {distance})")}
        ${pairs.outer.merge(f"acc{v}", f"acc{v}", "next")}
    }
% endfor
<%
at = f"first + {warps.row_place(v)}"
live = [f"{at} < last && {warps.owner()}"]
finished = pairs.finish(f"acc{v}", 1, [f"batch * rows + ({at})"], live, "reduced")
%>
    ${domain.results(partial, finished, pairs.partial(f"acc{v}", "kept", [f"({at})"], live, "total"))}
% endfor
</%def>
