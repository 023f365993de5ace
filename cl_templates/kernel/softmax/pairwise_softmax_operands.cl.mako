## cmr_pairwise_softmax_operands: vectors of floats of 16 bits as operands of matrix instructions, for cmr_pairwise_softmax. An item takes four words of a block.
##   in…  [batch][count][dim], of a kind of vectors one or several side by side      operands… [batch][block of vectors][block of coordinates][lane] four words; behind the last vector and coordinate zeros, and before
##   the first vector where an operand says so      given_up  0, for the later launch      count…  vectors of each kind      quads…  four words each, of an element of
##   the batch      groups…  of an element of the batch, which has those of the first kind first
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="offsets" file="/pairs/inputs.cl.mako"/>
<%
names = ["rows", "columns", "weights"]
sizes = [f"const idx {size}_{name}" for name in names for size in ("count", "quads", "groups")]
%>
<%def name="declare_word(operand, name, k)">
% for half, (vector, coordinate) in enumerate(operand.floats(k)):
uint half${half} = 0;
{
    const idx vector = ${vector}, d = ${coordinate};
    if (vector >= 0 && vector < count_${name}) {
% for of, begin in operand.parts:
        if (d >= ${begin} && d < ${begin + of.dim}) half${half} = ((__global const ushort *)${of.name})[vector * ${of.dim} + d - ${begin}];
% endfor
    }
}
% endfor
word${k} = half0 | half1 << 16;
</%def>
<%def name="pack(operand, name)">
const idx quad = group * ${block} + CMR_LOCAL_ID;
if (quad < quads_${name}) {
    const int lane = (int)(quad % 32), across = lane / 4, along = lane % 4;
    const idx line = quad / 32 / ${operand.steps}, step = quad / 32 % ${operand.steps};
    uint ${", ".join(f"word{k}" for k in range(4))};
% for k in range(4):
    { ${declare_word(operand, name, k)} }
% endfor
    ${name}[(size_t)batch * quads_${name} + quad] = (uint4)(${", ".join(f"word{k}" for k in range(4))});
}
</%def>
${mode.open_kernel("cmr_pairwise_softmax_operands", parameters(inputs) + [f"__global uint4 *restrict {name}" for name in names] + ["__global int *restrict given_up"] + sizes)}
    const idx groups = ${" + ".join(f"groups_{name}" for name in names)}, batch = CMR_GROUP / groups;
    idx group = CMR_GROUP % groups;
    ${offsets.offset(inputs, "batch")}
    if (CMR_GROUP == 0 && CMR_LOCAL_ID == 0) given_up[0] = 0;
% for operand, name in zip(operands, names):
    if (group >= 0 && group < groups_${name}) { ${pack(operand, name)} }
    group -= groups_${name};
% endfor
}
