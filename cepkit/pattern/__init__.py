"""The language: queries as frozen values, made from text or by a builder."""

from cepkit.pattern import networks as networks  # registers the graph of a query
from cepkit.pattern import printer as printer  # registers how a query prints
