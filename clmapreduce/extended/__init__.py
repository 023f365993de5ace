"""Numbers in several floats: their arithmetic as nodes, and what becomes of decimals, fractions and texts."""

from clmapreduce.extended import arithmetic as arithmetic  # fills the table EXTENDED
