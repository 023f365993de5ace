## What the items of a group or a sub-group do together.
## The attribute in a kernel's head for the number of items that exchange registers.
<%def name="kernel_attribute(width)"></%def>
## The value of another work-item of the sub-group: some places after, or before, or number `at`, counted round the sub-group. Beyond the sub-group
## it is undefined. Here a sub-group is one work-item: it has only its own value.
<%def name="shuffle_down(T)">
INLINE ${T} cmr_shuffle_down_${T}(${T} x, uint distance) { return x; }
</%def>
<%def name="shuffle_up(T)">
INLINE ${T} cmr_shuffle_up_${T}(${T} x, uint distance) { return x; }
</%def>
<%def name="shuffle_first(T)">
INLINE ${T} cmr_shuffle_first_${T}(${T} x, uint unused) { return x; }
</%def>
## Operations of a sub-group, for one of a single item: its own vote, and no wait.
<%def name="ballot(T)">
INLINE uint cmr_ballot_${T}(${T} p) { return p != 0; }
</%def>
<%def name="warp_sync(T)">
INLINE void cmr_warp_sync_${T}(void) { mem_fence(CLK_LOCAL_MEM_FENCE); }
</%def>
## What groups wrote before is seen by those that read behind it.
<%def name="device_fence(T)">
INLINE void cmr_device_fence_${T}(void) { mem_fence(CLK_GLOBAL_MEM_FENCE); }
</%def>
## All items of a group test whether the group has work; if not, they may end here, before any barrier. In this vocabulary they go on: PoCL miscompiles a return before a barrier.
<%def name="end_unless(T)">
INLINE void cmr_end_unless_${T}(${T} todo) {}
</%def>
