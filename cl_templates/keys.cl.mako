## Defs of kernels that search runs of keys.
<%namespace name="outputs" file="/outputs.cl.mako"/>
## Stores the key at a place into an output.
<%def name="copy(output, to, at)">
${outputs.store(text.keys_in(output), text.key_at(at), to)}
</%def>
## Sets a bit where the key at a place and the next one differ.
<%def name="change(bits, at, bit)">
<% differ = text.change(at) %>
{
    ${differ.statements}
    ${bits} |= (uint)(${differ.parts[""]} != 0) << ${bit};
}
</%def>
