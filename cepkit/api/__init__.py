"""The public functions: each checks its arguments and calls the part that does the work.

What goes in
    `events` makes a stream of a DataFrame, a table or a file, `parse` a query of a text;
    `register_function` adds to the language; `sample_stocks` and `sample_clicks` are made up.
Before anything runs
    `profile` measures a stream; `choose_plan` plans by what was measured, several patterns
    together; `compare_plans` and `what_if` set plans side by side.
Matches
    `detect` finds them; `check_detectable` of a query refuses, at no cost, what it cannot do.
    `from_match_recognize` runs a query in SQL.
Aggregates of matches
    `aggregate` gives them without the matches, where that can be.
Event by event
    `simulate` runs a published mechanism, which finds matches or counts them.
Why
    `why_not` says what is missing to a match; `draw` makes a figure of any result.

Each verb is imported from its own module: a detection loads no more than it needs. `cepkit` names
them all.
"""
