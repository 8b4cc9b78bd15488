"""Row pattern queries (SQL's MATCH_RECOGNIZE) over tables.

    text - parser -> RowQuery - bind -> BoundQuery - compile -> Program
    table - rows_of -> Rows - Search -> Found - result_table -> tables

1. `parser` reads the whole query by `grammar.lark` into frozen values (`nodes`, `expressions`),
   and refuses by name what is not taken over, with the place in the text.
2. `binding` resolves names against a table and the pattern. What a condition or a measure reads
   of a match is a leaf: a value of one row (`A.price`, `PREV(LAST(A.price, 1))`), an aggregate,
   the match's number. `operations` says what all else means, for columns and single values.
3. `program` turns the pattern into instructions: rows, choices of which the first is preferred,
   anchors. `rows` sorts the table into partitions.
4. `search` finds the matches. Conditions about a row and the rows beside it are computed by Arrow
   for all rows at once. A pass backwards over a partition (`kernels`) then says of each row and
   instruction whether the rest can match; where there are no other conditions, the preferred
   match is read off, in rows x instructions whatever the pattern. Other conditions - on rows
   mapped before, on aggregates so far - are asked by a search that follows the preferred way and
   goes back (`mapping`), kept from hopeless ways by the same pass.
5. `output` computes measures for many matches at once.

cepkit's own engine is not asked: it finds all matches, where SQL takes of each start the preferred
one, and a pattern of loops has quadratically many. `translation` writes the pattern of cepkit that
means the same, where one does, for those who migrate.

Preferment, as in SQL:2016: the left part of a concatenation decides first; `A | B` any match by A
before any by B; greedy quantifiers one more iteration before one less; PERMUTE by the order of its
list. Of loops over what can match nothing `program` says more: there databases differ.
"""
