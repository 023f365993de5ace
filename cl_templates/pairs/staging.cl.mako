## Coordinates of a tile's rows and columns in local memory (schemes/pairs/tile_numbers): `item`, `at_row` and `at_column` are declared.
## tiles: the layout. walk: the contractions that one loop sums. turn: C text of the stage, 0 or 1.
<%namespace name="contractions" file="/pairs/contractions.cl.mako"/>
<%!
def pitch(one):
    """C text of how far apart the coordinates of a packed input are."""
    return "row_pitch" if one.of_rows else "column_pitch"
def own_part(tiles, one, n):
    """C text of the coordinate within the stage, and of the row or column within the tile, of the item's run number n. Items that have none take the last again."""
    block, each = tiles.shape.box.block, one.count // one.run
    runs = each * tiles.shape.box.depth
    place = f"(item + {n * block})"
    if runs < (n + 1) * block:
        place = f"min({place}, {runs - 1})"
    return f"{place} / {each}", f"{place} % {each} * {one.run}"
def loaded(tiles, one, d, columns, where):
    """C text of a run of neighbours of a tile at coordinate d."""
    base = f"k_{one.name} + {d} * {pitch(one)}"
    if tiles.scattered and not one.of_rows:
        page = f"({columns}) * {tiles.shape.tile_columns} + {where}"
        each = ", ".join(f"({base})[places[{page} + {i}]]" for i in range(one.run))
        return f"({one.type})({each})" if one.run > 1 else each
    at = f"{base} + {'first' if one.of_rows else columns} + {where}"
    if one.run == 1:
        return f"*({at})"
    return f"CMR_LOAD_ANYWHERE({one.type}, {one.run}, {at})" if tiles.scattered else f"CMR_LOAD({one.type}, {at})"
def places(tiles):
    return [(v, c) for v in range(tiles.shape.box.rows) for c in range(tiles.shape.box.columns)]
%>
## Moves the packed inputs to their part for one element of the batch, and declares how long a coordinate of each side is.
<%def name="offset(tiles, batch)">
<% shape = tiles.shape %>
const size_t row_pitch = (size_t)((rows + ${shape.tile_rows - 1}) / ${shape.tile_rows}${" + 1" if tiles.scattered else ""}) * ${shape.tile_rows};
const size_t column_pitch = (size_t)((columns + ${shape.tile_columns - 1}) / ${shape.tile_columns}) * ${shape.tile_columns};
% for one in tiles.packed_inputs:
% if one.batched:
k_${one.name} += ${batch} * ${one.padded} * ${pitch(one)};
% endif
% endfor
</%def>
## Declares the item's part of a stage as p{input}_{n}. columns: where the tile of columns begins, or its page of `places`.
<%def name="fetch(tiles, walk, stage, columns)">
% for one in tiles.staged(walk):
% for n in range(one.times):
<%
name = f"p{one.name}_{n}"
k, where = own_part(tiles, one, n)
%>
const int ${name}_d = (${stage}) * ${tiles.shape.box.depth} + ${k};
const ${one.type} ${name} = ${f"{name}_d < {one.size} ? {one.element(f'{name}_d')} : 0" if one.shared else loaded(tiles, one, f"{name}_d", columns, where)};
% endfor
% endfor
</%def>
## Stores the variables of `fetch` into a stage, minus the centre if `expanded`.
<%def name="put(tiles, walk, turn)">
{
% for one in tiles.staged(walk):
% for n in range(one.times):
<%
name = f"p{one.name}_{n}"
k, where = own_part(tiles, one, n)
at = f"({turn}) * {tiles.stage_size(walk)} + {one.place} + ({k}) * {one.pitch} + {where}"
middle = f" - {name}_m" if tiles.distance else ""
%>
% if tiles.distance:
const ${tiles.kind} ${name}_m = expanded ? centre[${name}_d] : 0;
% endif
% if one.run == 1:
memory[${at}] = ${name}${middle};
% else:
*(__local ${one.type} *)(memory + ${at}) = (${one.type})(${", ".join(f"{name}.s{i:x}{middle}" for i in range(one.run))});
% endif
% endfor
% endfor
}
</%def>
## Declares the contractions of the item's pairs as zero.
<%def name="open_sums(tiles, walk)">
% for k in walk.numbers:
% for v, c in places(tiles):
${tiles.kind} q${v}_${c}_${k} = ${tiles.pairs.contractions[k].zero};
% endfor
% endfor
</%def>
## Declares neighbours in a stage, one vector a load.
<%def name="read(tiles, prefix, base, offsets)">
<%
width = tiles.shape.vector(len(offsets))
type = f"{tiles.kind}{width}"
%>
% for n in range(0, len(offsets), width):
% if width == 1:
const ${tiles.kind} ${prefix}${n} = memory[${base} + ${offsets[n]}];
% else:
const ${type} ${prefix}v${n} = *(__local const ${type} *)(memory + ${base} + ${offsets[n]});
const ${tiles.kind} ${", ".join(f"{prefix}{n + i} = {prefix}v{n}.s{i:x}" for i in range(width))};
% endif
% endfor
</%def>
## Adds a staged coordinate to the contractions, or its products to the only one.
<%def name="add_coordinate(tiles, walk, turn, staged, products)">
% for one in tiles.staged(walk):
<% base = f"({turn}) * {tiles.stage_size(walk)} + {one.place} + ({staged}) * {one.pitch}" %>
% if one.shared:
const ${tiles.kind} w${one.name} = memory[${base}];
% elif one.of_rows:
${read(tiles, f"w{one.name}_", f"{base} + at_row", tiles.row_offsets)}
% else:
${read(tiles, f"w{one.name}_c", f"{base} + at_column", range(tiles.shape.box.columns))}
% endif
% endfor
% if products and tiles.distance:
% for v, c in places(tiles):
q${v}_${c}_0 = q${v}_${c}_0 + (w${tiles.distance.row.name}_${v} * w${tiles.distance.column.name}_c${c});
% endfor
% else:
% for k in walk.numbers:
${contractions.add(tiles.pairs, k, places(tiles))}
% endfor
% endif
</%def>
