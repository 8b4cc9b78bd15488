"""Patterns as SQL of other systems: a join of the table with itself, or MATCH_RECOGNIZE.

A branch of the normal form is a list of requirements; `joins.py` writes each as a condition of a
join, `recognize.py` writes contiguous sequences for systems that have MATCH_RECOGNIZE. Both make
trees of sqlglot, which knows the words of each system. What SQL cannot say exactly is refused.
"""

from importlib.util import find_spec

from cepkit.errors import MissingPackageError

if find_spec("sqlglot") is None:
    raise MissingPackageError("sqlglot is not installed", hint="pip install 'cepkit[sql]'")

from cepkit.pattern.sql.table import Table
from cepkit.pattern.sql.text import sql_of

__all__ = ["Table", "sql_of"]
