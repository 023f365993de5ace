## The lanes of vectors: masks, moves, turns.
<%! from cl_templates.vectors import picked, picks_alternate, picks_in_turn, picks_up, split, typed %>
## Whether any lane of a mask is set.
<%def name="any(T)">
<% S, lanes = split(T) %>
INLINE int cmr_any_${T}(${T} m) {
<% n, name = lanes, "m" %>
% while n > 1:
<% n //= 2 %>
    const ${typed(S, n)} m${n} = ${name}.${"lo" if n > 1 else "x"} | ${name}.${"hi" if n > 1 else "y"};
<% name = f"m{n}" %>
% endwhile
    return ${name} ${"!=" if lanes == 1 else "<"} 0;
}
</%def>
## The largest lane.
<%def name="longest(T)">
<% S, lanes = split(T) %>
INLINE ${S} cmr_longest_${T}(${T} v) {
<% n, name = lanes, "v" %>
% while n > 1:
<% n //= 2 %>
    const ${typed(S, n)} a${n} = ${name}.${"lo" if n > 1 else "x"}, b${n} = ${name}.${"hi" if n > 1 else "y"}, v${n} = a${n} > b${n} ? a${n} : b${n};
<% name = f"v{n}" %>
% endwhile
    return ${name};
}
</%def>
## A mask's lanes as bits, the first one lowest.
<%def name="flags(T)">
INLINE uint cmr_flags_${T}(${T} m) {
${_flags(T)}
}
</%def>
<%def name="_flags(T)">
<%
S, lanes = split(T)
n, name = lanes, "v"
%>
    const ${T} v = m & (${T})(${", ".join(str(1 << lane) for lane in range(lanes))});
% while n > 1:
<% n //= 2 %>
    const ${typed(S, n)} v${n} = ${name}.${"lo" if n > 1 else "x"} | ${name}.${"hi" if n > 1 else "y"};
<% name = f"v{n}" %>
% endwhile
    return (uint)${name};
</%def>
## Lanes moved up by a distance, the lowest filled from `fill`.
<%def name="_lanes_up(T, distance)">
INLINE ${T} cmr_lanes_up${distance}_${T}(${T} v, ${T} fill) { return ${picked(T, "v", "fill", picks_up(T, distance))}; }
</%def>
<%def name="lanes_up1(T)">${_lanes_up(T, 1)}</%def>
<%def name="lanes_up2(T)">${_lanes_up(T, 2)}</%def>
<%def name="lanes_up4(T)">${_lanes_up(T, 4)}</%def>
<%def name="lanes_up8(T)">${_lanes_up(T, 8)}</%def>
## Of two vectors in a row, every other lane: the even ones, or the odd ones.
<%def name="_alternate(T, name, start)">
INLINE ${T} cmr_${name}_${T}(${T} a, ${T} b) { return ${picked(T, "a", "b", picks_alternate(T, start))}; }
</%def>
<%def name="evens(T)">${_alternate(T, "evens", 0)}</%def>
<%def name="odds(T)">${_alternate(T, "odds", 1)}</%def>
## The lanes of two vectors in turn: of their lower halves, or of their upper ones. What evens and odds undo.
<%def name="_in_turn(T, name, start)">
INLINE ${T} cmr_${name}_${T}(${T} a, ${T} b) { return ${picked(T, "a", "b", picks_in_turn(T, start))}; }
</%def>
<%def name="turns_low(T)">${_in_turn(T, "turns_low", 0)}</%def>
<%def name="turns_high(T)">${_in_turn(T, "turns_high", split(T)[1] // 2)}</%def>
## Two vectors stored as such turns, from a multiple of their size on where vectors may not lie anywhere or go past the caches.
<%def name="_put_turns(T, name, how)">
<% S, lanes = split(T) %>
INLINE void cmr_${name}_${T}(__global ${S} *p, ${T} a, ${T} b) {
    ${how}(${T}, p, cmr_turns_low_${T}(a, b));
    ${how}(${T}, p + ${lanes}, cmr_turns_high_${T}(a, b));
}
</%def>
<%def name="store_turns(T)">${_put_turns(T, "store_turns", "CMR_STORE")}</%def>
<%def name="stream_turns(T)">${_put_turns(T, "stream_turns", "CMR_STREAM")}</%def>
