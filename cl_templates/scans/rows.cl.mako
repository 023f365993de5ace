## Vectors of a warp in local memory, on their way between memory's order and that of items: an item has `rows` vectors of neighbours.
##   The vector number v of a warp belongs to the item v / rows. Its slot is turned within the item's, so that neither order meets in the banks of local
##   memory where vectors have 16 bytes.
<%def name="slot(item, k)">(warp * ${subgroup * rows} + (${item}) * ${rows} + (((${k}) + ((${item}) * ${rows} >> 3)) & ${rows - 1}))</%def>
## The slot of the vector that an item moves in memory's order.
<%def name="moved(k)">${slot(f"(lane + {k * subgroup}) / {rows}", f"(lane + {k * subgroup}) % {rows}")}</%def>
