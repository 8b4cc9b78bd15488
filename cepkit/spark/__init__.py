"""Spark: sessions, profiles, batch and streaming detection. The only package that knows Spark."""

from importlib.util import find_spec

from cepkit.errors import MissingPackageError

if find_spec("pyspark") is None:
    raise MissingPackageError("pyspark is not installed", hint="pip install 'cepkit[spark]'")
