## What tiles of a line tell each other within one launch (decoupled look-back), so that the line is read once.
##   A group takes the next tile by a ticket, so it waits only for groups that have started before it: some group always goes on where a group that
##   has started does, whatever else the device runs (the trait `groups_progress`).
##   posts: the ticket and the number of groups that are done, in one word; the age; then what is `sent` of tiles, of windows of `subgroup` tiles, and of
##   all tiles before each block of as many windows. Each word of 32 bits lies beside a tag, in one word of 64 bits, so that no fence is needed.
##   A tag is the age of the launch. The group that is done last sets the ticket to 0 and makes posts a launch older, so that the next launch sees none of
##   its words. All are 0 before the first launch.
##   What a tile merges depends on its number alone: everything before its block of windows, the windows of the block before its own, the tiles of its window
##   before it, in one tree. So a call gives the same bits every time.
##   The first warp of a group alone waits, an item for one post. It looks at near and far posts at once where their words are few: more would take registers,
##   and so groups that run side by side.
<%!
def words_of(part, size):
    """The words of 32 bits of a variable, as texts."""
    if size < 4:
        return [f"(uint){part}"]
    count = size // 4
    return [f"as_uint({part})"] if count == 1 else [f"as_uint{count}({part}).s{k}" for k in range(count)]


def of_words(kind, size, words):
    """A variable of some words."""
    if size < 4:
        return f"({kind})(uint){words[0]}"
    text = ", ".join(f"(uint){word}" for word in words)
    return f"as_{kind}({text})" if len(words) == 1 else f"as_{kind}((uint{len(words)})({text}))"
%>
## Takes the next tile, for the leader.
<%def name="take_ticket()">atomic_inc((volatile __global uint *)posts)</%def>
## Declares `age`, the tag of this launch.
<%def name="read_age()">
    const ulong age = (((volatile __global ulong *)posts)[1] + 1) << 32;
</%def>
## Counts the group as done, behind its last look, for the leader.
<%def name="leave()">
    if (atomic_inc((volatile __global uint *)posts + 1) + 1 == (uint)tiles) {
        posts[0] = 0;
        posts[1] = age >> 32;
    }
</%def>
## Stores `acc` as the post number `at`.
<%def name="post(acc, at)">
    {
        volatile __global ulong *post = posts + ${head} + (${at}) * ${words};
<% texts = [text for part, _ in sent.parts for text in words_of(f"{acc}_{part}", sent.dtypes[part].itemsize)] %>
% for k, text in enumerate(texts):
        post[${k}] = age | ${text};
% endfor
    }
</%def>
## Declares `name`, the words of the post number `at`, as they are now; if not `wanted`, words that are there.
<%def name="look(name, at, wanted)">
    const volatile __global ulong *${name} = posts + ${head} + (${at}) * ${words};
    ulong ${", ".join(f"{name}{k} = age" for k in range(words))};
    if (${wanted}) { ${" ".join(f"{name}{k} = {name}[{k}];" for k in range(words))} }
</%def>
## Waits until they are there, and sets `acc` to it if it is `wanted`.
<%def name="wait_for(acc, name, wanted)">
    while ((${" | ".join(f"({name}{k} ^ age)" for k in range(words))}) >> 32 != 0) { ${" ".join(f"{name}{k} = {name}[{k}];" for k in range(words))} }
    if (${wanted}) {
<% first = 0 %>
% for part, kind in sent.parts:
<%
size = sent.dtypes[part].itemsize
last = first + max(1, size // 4)
%>
        ${acc}_${part} = ${of_words(kind, size, [f"{name}{k}" for k in range(first, last)])};
<% first = last %>
% endfor
    }
</%def>
## Looks at the posts that the tile `number` merges: an item of the first warp at one of its window, and at one before that window. The last item has the
## last one. far: whether to look at those before, too.
<%def name="first_look(lane, far)">
<% fan = subgroup %>
    const idx windows = (tiles - 1) / ${fan} + 1, window = number / ${fan}, bank = number / ${fan * fan};
    const int place_near = ${lane} - (${fan} - (int)(number % ${fan})), place_far = ${lane} - (${fan} - (int)(window % ${fan}));
    const int wants_near = place_near >= 0, wants_far = place_far >= 0 || (place_far == -1 && bank > 0);
    ${look("posted_near", f"(window * {fan} + place_near)", "wants_near")}
    ${far_look() if far else ""}
</%def>
<%def name="far_look()">
    ${look("posted_far", f"(place_far >= 0 ? tiles + bank * {subgroup} + place_far : tiles + windows + bank)", "wants_far")}
</%def>
