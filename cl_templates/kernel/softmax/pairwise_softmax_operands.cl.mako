## cmr_pairwise_softmax_operands: vectors of floats of 16 bits as operands of matrix instructions, for cmr_pairwise_softmax. An item takes four words of a block.
##   in…  [batch][count][dim]      operands [batch][block of vectors][block of coordinates][lane] four words; behind the last vector and coordinate zeros, and before the first vector where operand says so
##   given_up  0, for the later launch      count  vectors      quads  four words each, of an element of the batch      groups  of an element of the batch
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
<%def name="declare_word(k)">
% for half, (vector, coordinate) in enumerate(operand.floats(k)):
uint half${half} = 0;
{
    const idx vector = ${vector}, d = ${coordinate};
    if (vector >= 0 && vector < count && d < ${operand.of.dim}) half${half} = bits[vector * ${operand.of.dim} + d];
}
% endfor
word${k} = half0 | half1 << 16;
</%def>
${mode.open_kernel("cmr_pairwise_softmax_operands", parameters([operand.of]) + ["__global uint4 *restrict operands"] + (["__global int *restrict given_up"] if opens else []) + ["const idx count", "const idx quads", "const idx groups"])}
    const idx batch = CMR_GROUP / groups, quad = CMR_GROUP % groups * ${block} + CMR_LOCAL_ID;
    ${inputs.offset([operand.of], "batch")}
    __global const ushort *bits = (__global const ushort *)${operand.of.name};
% if opens:
    if (batch == 0 && quad == 0) given_up[0] = 0;
% endif
    if (quad < quads) {
        const int lane = (int)(quad % 32), across = lane / 4, along = lane % 4;
        const idx line = quad / 32 / ${operand.steps}, step = quad / 32 % ${operand.steps};
        uint ${", ".join(f"word{k}" for k in range(4))};
% for k in range(4):
        { ${declare_word(k)} }
% endfor
        operands[(size_t)batch * quads + quad] = (uint4)(${", ".join(f"word{k}" for k in range(4))});
    }
}
