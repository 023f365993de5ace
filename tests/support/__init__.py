"""What tests share: oracles, random inputs, plans of every kind, processes of their own."""
