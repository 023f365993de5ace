"""float16 on devices that do not compute with it: how formulas and operators are rewritten to float32."""
