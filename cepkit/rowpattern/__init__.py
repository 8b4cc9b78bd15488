"""Row pattern queries (SQL's MATCH_RECOGNIZE) over tables.

    text - parser -> RowQuery - bind -> BoundQuery - compile -> Program
    table - rows_of -> Rows - Search -> Matches - result_table -> tables

1. `parser` parses the query by `grammar.lark` into frozen values (`nodes`, `expressions`), and
   refuses unsupported parts by name, with the place in the text.
2. `binding` resolves names against a table and the pattern. Conditions and measures read a match
   through leaves: a value of one row (`A.price`, `PREV(LAST(A.price, 1))`), an aggregate, or the
   match number. `operations` defines all other operators, for columns and single values.
3. `program` turns the pattern into instructions: rows, choices (the first is preferred), anchors.
   `rows` sorts the table into partitions.
4. `search` finds the matches. Conditions about a row and the rows beside it are computed by Arrow
   for all rows at once. A backward pass over a partition (`kernels`) then computes for each row and
   instruction whether the rest can match; without other conditions that determines the preferred
   match, in O(rows x instructions) for any pattern. Other conditions - on rows mapped before, on
   aggregates so far - are evaluated by a backtracking search along the preferred path (`mapping`),
   pruned by the same pass. It remembers from which states (row, instruction, what conditions ahead
   can read) all paths failed, and has a budget of failures where conditions tell all paths apart.
5. `output` computes measures for many matches at once.

It does not use cepkit's own engine, which finds all matches: SQL takes only the preferred one of
each start, and a pattern with loops has quadratically many. For migration, `translation` writes the
equivalent cepkit pattern, if there is one.

Preferment, as in SQL:2016: the left part of a concatenation decides first; `A | B` prefers any
match by A; greedy quantifiers prefer one more iteration; PERMUTE follows the order of its list. For
loops over empty matches see `program`: there databases differ.
"""
