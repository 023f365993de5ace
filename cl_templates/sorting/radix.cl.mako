## Keys in the kernels of a radix sort. A key is the bits of a number as an unsigned word; the order of keys is that of the numbers.
##   word  the C type    keys.kind  u, i or f    keys.sign  the bit of the sign    keys.infinity  the bits of infinity
##   keys.descending  the largest comes first    keys.ties  equal numbers have equal words: zeros of both signs, NaN of all kinds
##   keys.in_place  words in memory are unchanged, and are mapped before each digit; else the first pass maps them as it reads
## maps, unmaps: whether this kernel maps words, and maps them back.
<%def name="functions(maps, unmaps)">
<%
literal = lambda number: f"({word}){number:#x}{'ul' if keys.number.itemsize == 8 else 'u'}"
top = literal(keys.sign)
infinity, negative_nans = (literal(keys.infinity), literal(keys.negative_nans)) if keys.kind == "f" else ("", "")
%>
% if maps:
## The order of words as unsigned numbers; NaN last.
INLINE ${word} cmr_mapped(${word} k) {
% if keys.kind == "i":
    k ^= ${top};
% elif keys.kind == "f" and keys.ties:
    const ${word} size = k & ~${top};
    k = size > ${infinity} ? ~${top} : (size == 0 ? (${word})0 : k);
    k ^= (k & ${top}) ? ~(${word})0 : ${top};
% elif keys.kind == "f":
## Negative NaN are the lowest words: a subtraction of their number moves them after all others.
    k ^= (k & ${top}) ? ~(${word})0 : ${top};
    k -= ${negative_nans};
% endif
    return ${"~k" if keys.descending else "k"};
}
% endif
% if unmaps:
## The word that was mapped.
INLINE ${word} cmr_unmapped(${word} k) {
% if keys.descending:
    k = ~k;
% endif
% if keys.kind == "i":
    k ^= ${top};
% elif keys.kind == "f":
    k += ${negative_nans};
    k ^= (k & ${top}) ? ${top} : ~(${word})0;
% endif
    return k;
}
% endif
</%def>
## A word as it is read, and as it is stored.
<%def name="entered(k)">${k if keys.in_place or not first else f"cmr_mapped({k})"}</%def>
<%def name="stored(k)">${k if keys.in_place or not last else f"cmr_unmapped({k})"}</%def>
## The digit of a word that was read.
<%def name="digit(k)">((uint)((${f"cmr_mapped({k})" if keys.in_place else k}) >> shift) & ${digits - 1})</%def>
## A word that was read, in the order of unsigned numbers.
<%def name="ordered(k)" buffered="True">${f"cmr_mapped({k})" if keys.in_place else k}</%def>
## A word in that order as it is stored in the end.
<%def name="result(k)" buffered="True">${k if keys.in_place else f"cmr_unmapped({k})"}</%def>
## cmr_mapped for several words at a time.
<%def name="lanes_function(T)">
<%
literal = lambda number: f"({T}){number:#x}{'ul' if keys.number.itemsize == 8 else 'u'}"
top = literal(keys.sign)
flipped = f"k ^= (({T})0 - (k >> {literal(keys.bits - 1)})) | {top};"
%>
INLINE ${T} cmr_mapped_${T}(${T} k) {
% if keys.kind == "i":
    k ^= ${top};
% elif keys.kind == "f" and keys.ties:
    const ${T} size = k & ~${top};
    k = size > ${literal(keys.infinity)} ? ~${top} : (size == ${literal(0)} ? ${literal(0)} : k);
    ${flipped}
% elif keys.kind == "f":
    ${flipped}
    k -= ${literal(keys.negative_nans)};
% endif
    return ${"~k" if keys.descending else "k"};
}
</%def>
