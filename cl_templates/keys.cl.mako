## What kernels share that look for runs among keys.
## Sets a bit where the key at a place and the next one differ.
<%def name="change(bits, at, bit)">
<% differ = text.change(at) %>
{
    ${differ.statements}
    ${bits} |= (uint)(${differ.parts[""]} != 0) << ${bit};
}
</%def>
