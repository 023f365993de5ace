## Words sorted by a digit, from one array into another, stably and by one item: what fits a cache.
<%! AHEAD = 4 %>
## cmr_NAME: m words by the `bits` bits from `shift` on of their distance from `lowest`. next: a count for each digit.
##   rank  the text of a word's place in the order    stored  that of a word as it is stored; None: words are not    carried  C types of the values that go
##   along, before and after; None without
<%def name="moved(name, rank, stored, carried)">
<%
parameters = [f"__global const {word} *from"] + ([f"__global {word} *to"] if stored else [])
if carried: parameters += [f"__global const {carried[0]} *with", f"__global {carried[1]} *along"]
digit = lambda k: f"(int)(({rank(k)} - lowest) >> shift) & mask"
%>
INLINE void cmr_${name}(${", ".join(parameters)}, idx *next, const idx m, const ${word} lowest, const int shift, const int bits) {
    const int mask = (1 << bits) - 1;
    for (int d = 0; d <= mask; d++) next[d] = 0;
    idx i = 0;
    for (; i + ${AHEAD} <= m; i += ${AHEAD}) {
% for k in range(AHEAD):
        const int digit${k} = ${digit(f"from[i + {k}]")};
% endfor
% for k in range(AHEAD):
        next[digit${k}]++;
% endfor
    }
    for (; i < m; i++) next[${digit("from[i]")}]++;
    idx before = 0;
    for (int d = 0; d <= mask; d++) {
        const idx here = next[d];
        next[d] = before;
        before += here;
    }
    i = 0;
    for (; i + ${AHEAD} <= m; i += ${AHEAD}) {
% for k in range(AHEAD):
        const ${word} word${k} = from[i + ${k}];
        const int digit${k} = ${digit(f"word{k}")};
% endfor
% for k in range(AHEAD):
        {
${put(f"word{k}", f"digit{k}", f"i + {k}", stored, carried)}
        }
% endfor
    }
    for (; i < m; i++) {
        const ${word} word = from[i];
        const int digit = ${digit("word")};
${put("word", "digit", "i", stored, carried)}
    }
}
</%def>
<%def name="put(word, digit, i, stored, carried)">
            const idx at = next[${digit}]++;
% if stored:
            to[at] = ${stored(word)};
% endif
% if carried:
            along[at] = (${carried[1]})with[${i}];
% endif
</%def>
