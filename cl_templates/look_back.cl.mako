## What tiles of a line tell each other within one launch (decoupled look-back), so that the line is read once.
##   A group takes the next tile by a ticket, so it waits only for groups that have started before it: some group always goes on where a group that
##   has started does, whatever else the device runs (the trait `groups_progress`).
##   posts: the ticket, then accumulators (`wide`) of tiles, of windows of `fan` tiles, and of all tiles before each block of `fan` windows. Each word
##   of 32 bits lies beside a tag, in one word of 64 bits, so that no fence is needed. All are 0 before the launch.
##   What a tile merges depends on its number alone, in one tree: everything before its block of windows, the windows of the block before its own, the tiles
##   of the window before it. So a call gives the same bits every time.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%!
def taken(part, kind, size):
    """The words of a variable, as texts."""
    if size < 4:
        return [f"(uint){part}"]
    words = size // 4
    return [f"as_uint({part})"] if words == 1 else [f"as_uint{words}({part}).s{k}" for k in range(words)]


def joined(kind, size, words):
    """The variable of some words."""
    if size < 4:
        return f"({kind})(uint){words[0]}"
    text = ", ".join(f"(uint){word}" for word in words)
    return f"as_{kind}({text})" if len(words) == 1 else f"as_{kind}((uint{len(words)})({text}))"
%>
## Stores the accumulator `acc` as the post number `at`.
<%def name="post(acc, at)">
    {
        volatile __global ulong *post = posts + 1 + (${at}) * ${words};
<% texts = [text for part, kind in wide.parts for text in taken(f"{acc}_{part}", kind, wide.dtypes[part].itemsize)] %>
% for k, text in enumerate(texts):
        post[${k}] = 1UL << 32 | ${text};
% endfor
    }
</%def>
## Waits for the post number `at`, and sets `acc` to it.
<%def name="wait_for(acc, at)">
    {
        volatile __global ulong *post = posts + 1 + (${at}) * ${words};
        ulong ${", ".join(f"word{k}" for k in range(words))};
        do {
% for k in range(words):
            word${k} = post[${k}];
% endfor
        } while ((${" & ".join(f"word{k}" for k in range(words))}) >> 32 == 0);
<% start = 0 %>
% for part, kind in wide.parts:
<%
size = wide.dtypes[part].itemsize
count = max(1, size // 4)
%>
        ${acc}_${part} = ${joined(kind, size, [f"word{start + k}" for k in range(count)])};
<% start += count %>
% endfor
    }
</%def>
## Declares `number`, the group's tile, and how many there are of each kind of post.
<%def name="take_tile(size)">
    if (${mode.is_leader()}) ticket[0] = atomic_inc((volatile __global uint *)posts);
    ${mode.sync()}
    const idx number = ticket[0], tiles = (n - 1) / ${size} + 1, windows = (tiles - 1) / ${fan} + 1;
</%def>
## Declares `carry`, the merge of all tiles before this one. own: the tile's accumulator, which has been posted; "" for the last tile, for which none waits.
<%def name="look_back(own)">
    ${wide.declare("carry")}
    if (CMR_LOCAL_ID >= ${fan} && CMR_LOCAL_ID - ${fan} < number % ${fan}) ${wait_for("carry", f"number / {fan} * {fan} + CMR_LOCAL_ID - {fan}")}
% if own:
    for (int ends = number % ${fan} == ${fan - 1}; ends; ends = 0) {
        ${wide.copy("window", "carry")}
        ${mode.combine_group(wide, "window", "carries")}
        ${wide.merge("window", "window", own)}
        if (${mode.is_leader()}) ${post("window", f"tiles + number / {fan}")}
    }
% endif
    if (CMR_LOCAL_ID > 0 && CMR_LOCAL_ID <= number / ${fan} % ${fan}) ${wait_for("carry", f"tiles + number / {fan * fan} * {fan} + CMR_LOCAL_ID - 1")}
    if (CMR_LOCAL_ID == 0 && number >= ${fan * fan}) ${wait_for("carry", f"tiles + windows + number / {fan * fan}")}
    ${mode.combine_group(wide, "carry", "carries")}
% if own:
    if (number % ${fan * fan} == ${fan * fan - 1} && ${mode.is_leader()}) {
        ${wide.copy("block", "carry")}
        ${wide.merge("block", "block", own)}
        ${post("block", f"tiles + windows + number / {fan * fan} + 1")}
    }
% endif
</%def>
