"""Words and signs of other languages, with a hint for each."""

FOREIGN = {
    "=>": "'at least' is written >=",
    "=~": "write a.name MATCHES 'regex'",
    "=<": "'at most' is written <=",
    "><": "'unequal' is written <> or !=",
    "&&": "write AND",
    "||": "write OR; texts are joined by concat(a.name, 'part')",
    "&": "write AND",
    "|": "write OR",
    "!": "write NOT, as in NOT(B b) or NOT a.price < 3",
    "~": "write NOT",
    "->": "one event after another is written SEQ(A a, B b)",
    "^": "the language has no power operator; write a product",
    "**": "the language has no power operator; write a product",
    ";": "a pattern ends without ';', and its parts are separated by ','",
    "[": "lists and sets go in round brackets: IN (1, 2)",
    "]": "lists and sets go in round brackets: IN (1, 2)",
    ":": "a variable comes after its type: MSFT a",
    "GREEDY": "GREEDY stands behind a set or OPT: KL(B b) GREEDY",
    "UNTIL": "UNTIL ends a set: KL(B b) UNTIL C c",
    "ROW": "rows are events here: PAST LAST EVENT, TO NEXT",
    **dict.fromkeys(
        ("REGEXP", "RLIKE", "GLOB", "REGEX", "SIMILAR"), "write a.name MATCHES 'regex'"
    ),
    "ESCAPE": "LIKE has no escapes; a.name MATCHES '100%' finds a percent sign",
    "ORDER": "matches have no order of their own; sort the result",
    "LIMIT": "a limit is an argument of detect, not a part of the pattern",
    "HAVING": "HAVING stands behind AGG: AGG COUNT HAVING COUNT > 10",
    "SELECT": "the columns of the matches go after RETURN, after the pattern",
    "MEASURES": "the columns of the matches go after RETURN, after the pattern",
    "`": "names with unusual characters go in double quotes",
}
