## cmr_segmented_lanes: an item walks one chunk of the path in vectors.
##   Segments no longer than the widest of `widths` are reduced in batches, one per lane: masked loads, then a tree that pairs lanes until
##   each holds one segment. Longer segments go one by one, `long` elements at a time in the tile's accumulators, which are then widened.
##   Gathered elements are first computed into a private window, by a loop that compilers vectorise; vectors are read from there.
##   The window holds the elements from `window_first` on, to before `until`; all places are those among all elements.
##   Edges go through cmr_edge, and a batch never ends with the last segment: with plain loads PoCL 3.0's code for batches of 16 is slower (16 ms
##   instead of 12 at 2^26 float32, all segments of 10, two Zen 4 cores).
##   Arguments as in cmr_segmented_walk. Local memory and barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="path" file="/path.cl.mako"/>
<%namespace name="outputs" file="/outputs.cl.mako"/>
<%namespace name="segments" file="/segments.cl.mako"/>
<%
tile, whole, formula = text.tile, text.whole, text.formula
widest = widths[-1]
counts = f"int{lanes}"
reach = "end" if text.windowed else "n"
def in_turn(p):
    return [text.place(f"({p} + {k * lanes})") for k in range(unroll)]
def begin_of(digit):
    return f"(window_first + starts.s{digit})" if text.windowed else f"cmr_within((idx)offsets[s + 0x{digit}], n - {widest})"
def gather(chain, at):
    (first, kind), *others = chain
    places = f"CMR_LOAD({kind}, {first} + ({at}))"
    for array, kind in others:
        last = f"(int){array}_last" if narrow else f"(int)CMR_MIN({array}_last, (idx)2147483647)"
        places = f"cmr_gather_{kind}({array}, cmr_within_{counts}({places}, {last}))"
    return places
%>
## Declares `target` as a tile's accumulators, in `width` lanes, of the first (or the last) `count` values at `at`, at most all.
<%def name="masked(target, at, count, width, last=False)">
${tile.declare(target, width)}
{ ${text.absorb_some(target, at, count, width, last)} }
</%def>
## Declares `target`, between tiles, as a tile's accumulator.
<%def name="widened(target, acc, width=1)">
${whole.declare(target, width)}
{ ${text.widen(target, acc, width)} }
</%def>
## Sets `target` to the tile's accumulators of one segment per lane, of their first `width` elements at most. No branch depends on a
## length: elements beyond a segment's end are masked, and pairs of lanes are merged until there is one lane per segment.
<%def name="batch(target, width)">
<% leaves = min(lanes, width) %>
{
${tree(0, leaves, width)}
${tile.assign(target, f"t0_{leaves}")}
}
</%def>
## Depth first, so that few vectors are in registers.
<%def name="tree(low, high, width)">
<% middle = (low + high) // 2 %>
% if high - low == 1:
${leaf(f"t{low}_{high}", low, width)}
% else:
${tree(low, middle, width)}
${tree(middle, high, width)}
${tile.paired(f"t{low}_{high}", f"t{low}_{middle}", f"t{middle}_{high}", lanes)}
% endif
</%def>
## A vector of one segment, or of several that are shorter.
<%def name="leaf(name, number, width)">
<%
together, part_lanes = max(1, lanes // width), min(width, lanes)
parts = [name] if together == 1 else [f"{name}p{k}" for k in range(together)]
%>
% for k, part in enumerate(parts):
<%
digit = f"{number * together + k:x}"
at, count = begin_of(digit), f"lengths.s{digit}"
%>
${masked(part, at, count, part_lanes)}
% for step in range(part_lanes, width, part_lanes):
${masked(f"{part}m{step}", f"{at} + {step}", f"{count} - {step}", part_lanes)}
${tile.merge(part, part, f"{part}m{step}", part_lanes)}
% endfor
% endfor
% if together > 1:
${tile.joined(name, parts, lanes)}
% endif
</%def>
## Prefetches the inputs that are read in order, at a place.
<%def name="ask_ahead(at)">
{
% for array, type in text.in_row:
    cmr_ahead_${type}(${array} + ${at});
% endfor
}
</%def>
## Declares `last_tile` as the accumulator, between tiles, of the elements [p, upto).
<%def name="tiles(p, upto)">
    ${tile.declare("part", lanes)}
    for (; ${p} + ${lanes * unroll} <= ${upto}; ${p} += ${lanes * unroll}) {
        ${tile.absorb("part", formula, in_turn(p), lanes)}
    }
    for (; ${p} + ${lanes} <= ${upto}; ${p} += ${lanes}) {
        ${tile.absorb("part", formula, [text.place(p)], lanes)}
    }
% if text.windowed:
    if (${p} < ${upto}) {
        ${masked("rest", p, f"(int)({upto} - {p})", lanes)}
        ${tile.merge("part", "part", "rest", lanes)}
    }
% else:
## Backwards from the end: there are elements before it, or the whole array is short.
    if (${p} < ${upto} && ${upto} >= ${lanes}) {
        ${masked("rest", f"({upto} - {lanes})", f"(int)({upto} - {p})", lanes, last=True)}
        ${tile.merge("part", "part", "rest", lanes)}
        ${p} = ${upto};
    }
% endif
    ${tile.fold("folded", "part", lanes)}
% if not text.windowed:
    for (; ${p} < ${upto}; ${p}++) { ${tile.absorb("folded", formula, [p])} }
% endif
    ${widened("last_tile", "folded")}
</%def>
${path.functions(text.offset, text.closed, weight)}
${path.search(text.offset)}
${mode.open_kernel("cmr_segmented_lanes", segments.attr.parameters(text, partial) + path.attr.gated + ["const idx share"])}
    const idx c = CMR_GROUP;
    ${path.chunk("c", weight)}
% if text.windowed:
    ${text.number} window[${window + widest + lanes}];
    ${no_elements("window")}
    idx window_first = 0, until = 0;
% endif
    const int earlier = first < last && ${segments.start("first")} < begin;
    for (idx s = first; s ${"<=" if partial else "<"} last;) {
## The segments from s on that are reduced one by one: all of the next ones, or those too long for the batch.
        uint single = 1;
        int next = 1;
        if (s >= first + earlier && s + ${lanes} <= last && s + ${lanes} < segments) {
            const idx from = cmr_within((idx)offsets[s], ${reach}), upto = cmr_within((idx)offsets[s + ${lanes}], ${reach});
            single = ${(1 << lanes) - 1};
            next = ${lanes};
            if (${f"upto - from <= {window}" if text.windowed else f"upto == from || (upto - from <= {1 << 30} && cmr_within((idx)offsets[s + {lanes - 1}], n) + {widest} <= n)"}) {
                const ${counts} lengths = CMR_CONVERT(CMR_LOAD(${text.offset}${lanes}, offsets + s + 1) - CMR_LOAD(${text.offset}${lanes}, offsets + s), ${counts});
                const int longest = cmr_longest_${counts}(lengths);
                const uint longer = longest > ${widest} ? cmr_flags_${counts}(lengths > (${counts})(${widest})) : 0;
                if (CMR_COUNT(longer) <= ${few}) {
% if text.windowed:
                    if (from < window_first || upto > until) {
                        ${refill("from")}
                    }
% else:
                    for (idx t = from; t < upto; t += ${lanes}) ${ask_ahead(f"t + {ahead}")}
% endif
## Offsets are read again. Before loads they are clamped to places where a batch may be. Without a window
## each start is clamped alone.
% if text.windowed:
                    const ${counts} starts = cmr_within_${counts}(CMR_CONVERT(CMR_LOAD(${text.offset}${lanes}, offsets + s) - (${text.offset}${lanes})(window_first), ${counts}), (int)(until - window_first));
% endif
                    ${tile.declare("sums", lanes)}
## Nothing is loaded for empty segments: there may be no more elements.
                    if (longest == 0${"" if text.windowed else f" || n < {widest}"}) {}
% for width in widths:
                    else ${f"if (longest <= {width}) " if width < widest else ""}${batch("sums", width)}
% endfor
% if whole.bound.locates:
                    const long${lanes} begins = CMR_CONVERT(CMR_LOAD(${text.offset}${lanes}, offsets + s), long${lanes});
% endif
                    ${outputs.store(text.results, text.results_of("sums", "begins", "lengths"), "s", lanes)}
                    single = longer;
                }
            }
        }
        for (; single; single &= single - 1) {
            const idx one = s + CMR_LOWEST(single), edge = cmr_edge(offsets, one, segments, n);
            idx p = edge > begin ? CMR_MIN(edge, end) : begin;
            const idx next_edge = cmr_edge(offsets, one + 1, segments, n);
            const idx upto = ${"one >= last ? end : " if partial else ""}CMR_MIN(next_edge, end);
            ${whole.declare("acc")}
% if text.windowed:
            while (p < upto) {
                if (p < window_first || p >= until) {
                    ${refill("p")}
                }
                const idx stop = CMR_MIN(upto, until);
                idx q = p;
                p = stop;
                ${tiles("q", "stop")}
                ${whole.merge("acc", "acc", "last_tile")}
            }
% else:
            if (upto - p >= ${long}) {
                ${whole.declare("wide", lanes)}
                for (; p + ${long} <= upto; p += ${long}) {
                    ${tile.declare("part", lanes)}
                    for (idx t = p; t < p + ${long}; t += ${lanes * unroll}) {
                        ${tile.absorb("part", formula, in_turn("t"), lanes)}
                    }
                    ${widened("block", "part", lanes)}
                    ${whole.merge("wide", "wide", "block", lanes)}
                }
                ${whole.fold("blocks", "wide", lanes)}
                ${whole.merge("acc", "acc", "blocks")}
            }
            ${tiles("p", "upto")}
            ${whole.merge("acc", "acc", "last_tile")}
% endif
% if partial:
            if (one == last) {
                ${segments.write_piece("2 * c + 1", "0", "acc")}
            } else if (one == first && earlier) {
                ${segments.write_piece("2 * c", "0", "acc")}
            } else
% endif
            ${segments.store("acc", "one", "edge", "upto", "0")}
        }
        s += next;
    }
% if partial:
    places[2 * c] = earlier ? first : -1;
    places[2 * c + 1] = last;
% endif
}
## Writes zeros after the window's elements: a batch reads there if offsets are wrong.
<%def name="no_elements(place)">
    for (int t = 0; t < ${widest + lanes}; t += ${lanes}) *(${text.numbers}_at *)(${place} + t) = (${text.numbers})(0);
</%def>
## Fills the window from p on; elements that it already holds are moved.
<%def name="refill(p)">
    idx t = 0;
    if (${p} >= window_first && ${p} < until) {
        for (; t < until - ${p}; t += ${lanes}) *(${text.numbers}_at *)(window + t) = CMR_PEEK(${text.numbers}, window + (${p} - window_first) + t);
        t = until - ${p};
    }
    window_first = ${p};
    until = CMR_MIN(window_first + ${window}, end);
    ${no_elements("window + (until - window_first)")}
% if text.gathers_lanes:
<%
chains = text.gathered
first = next(chain[0][0] for chain in chains.values())
vector = text.vector("(window_first + t)", {name: gather(chain, "(window_first + t)") for name, chain in chains.items()})
%>
## Whether the places for an index and for the next ones are contiguous.
    const int apart = t + ${lanes} <= until - window_first && !cmr_along_${counts}(CMR_LOAD(${counts}, ${first} + (window_first + t)));
    if (!apart || cmr_gathers_${counts}()) {
        for (; t + ${lanes} <= until - window_first; t += ${lanes}) {
            if (apart) ${ask_ahead(f"(window_first + t + {ahead})")}
            {
                ${vector.statements}
                *(${text.numbers}_at *)(window + t) = ${vector.parts[""]};
            }
        }
    }
% endif
<% element = text.element("(window_first + t)") %>
    for (; t < until - window_first; t++) {
        ${element.statements}
        window[t] = ${element.parts[""]};
    }
</%def>
