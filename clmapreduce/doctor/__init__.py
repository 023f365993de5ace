"""The checks of `clmapreduce doctor`: small calls on every device, compared with known results."""
