## What OpenCL's sub-groups do without a barrier, on any device with the extensions named here whose compiler takes the width of sub-groups from the
## kernel. Exchanges only, so that every operator is merged as elsewhere: sub_group_reduce and sub_group_scan know three operators and promise no order.
<%! from cl_templates.vectors import split %>
## cl_intel_required_subgroup_size. Else a compiler chooses for each kernel.
<%def name="kernel_attribute(width)">__attribute__((intel_reqd_sub_group_size(${width})))</%def>
## Complex numbers go part by part: OpenCL C exchanges scalars.
<%def name="_shuffle(T, name, function, extension, at='at')">
<% parts = ("x.x", "x.y") if split(T)[1] == 2 else ("x",) %>
#pragma OPENCL EXTENSION ${extension} : enable
INLINE ${T} cmr_${name}_${T}(${T} x, uint at) { return (${T})(${", ".join(f"{function}({part}, {at})" for part in parts)}); }
</%def>
<%def name="shuffle_down(T)">${_shuffle(T, "shuffle_down", "sub_group_shuffle_down", "cl_khr_subgroup_shuffle_relative")}</%def>
<%def name="shuffle_up(T)">${_shuffle(T, "shuffle_up", "sub_group_shuffle_up", "cl_khr_subgroup_shuffle_relative")}</%def>
<%def name="shuffle_first(T)">${_shuffle(T, "shuffle_first", "sub_group_shuffle", "cl_khr_subgroup_shuffle", "at & get_max_sub_group_size() - 1")}</%def>
<%def name="ballot(T)">
#pragma OPENCL EXTENSION cl_khr_subgroup_ballot : enable
INLINE uint cmr_ballot_${T}(${T} p) { return sub_group_ballot(p != 0).x; }
</%def>
<%def name="warp_sync(T)">
INLINE void cmr_warp_sync_${T}(void) { sub_group_barrier(CLK_LOCAL_MEM_FENCE); }
</%def>
