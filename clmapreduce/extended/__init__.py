"""Numbers in several floats: their arithmetic as nodes, and what becomes of decimals, fractions and texts."""

from clmapreduce.extended import operations as operations  # fills the table EXTENDED
