"""What `clmapreduce doctor` runs: small calls on every device beside known results."""
