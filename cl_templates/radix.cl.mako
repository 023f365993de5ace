## What kernels of a radix sort do with keys. A key is the bits of a number as an unsigned word; its order is that of the numbers.
##   keys.word  the C type    keys.kind  u, i or f    keys.top  the sign's bit    keys.infinity  the bits of infinity
##   keys.descending  the largest comes first    keys.ties  equal numbers have equal words: zeros of both signs, NaN of all kinds
##   keys.kept  words stay as they are in memory, and are mapped wherever a digit is taken; else they are mapped as the first pass reads them
<%def name="functions()">
## The order of words as unsigned numbers; NaN last.
INLINE ${keys.word} cmr_mapped(${keys.word} k) {
% if keys.kind == "i":
    k ^= ${keys.top};
% elif keys.kind == "f" and keys.ties:
    const ${keys.word} size = k & ~${keys.top};
    k = size > ${keys.infinity} ? ~${keys.top} : (size == 0 ? (${keys.word})0 : k);
    k ^= (k & ${keys.top}) ? ~(${keys.word})0 : ${keys.top};
% elif keys.kind == "f":
## Negative NaN are the lowest words: taking their number away puts them behind all others.
    k ^= (k & ${keys.top}) ? ~(${keys.word})0 : ${keys.top};
    k -= ${keys.negative_nans};
% endif
    return ${"~k" if keys.descending else "k"};
}
## The word that was mapped.
INLINE ${keys.word} cmr_unmapped(${keys.word} k) {
% if keys.descending:
    k = ~k;
% endif
% if keys.kind == "i":
    k ^= ${keys.top};
% elif keys.kind == "f":
    k += ${keys.negative_nans};
    k ^= (k & ${keys.top}) ? ${keys.top} : ~(${keys.word})0;
% endif
    return k;
}
</%def>
## A word as it is read, and as it is stored.
<%def name="entered(k)">${k if keys.kept or not first else f"cmr_mapped({k})"}</%def>
<%def name="stored(k)">${k if keys.kept or not last else f"cmr_unmapped({k})"}</%def>
## The digit of a word that was read.
<%def name="digit(k)">((uint)((${f"cmr_mapped({k})" if keys.kept else k}) >> shift) & ${digits - 1})</%def>
