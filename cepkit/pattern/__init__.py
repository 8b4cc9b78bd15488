"""The language: queries as frozen values, made from text or by a builder."""

from cepkit.pattern import printer as printer  # registers how a query prints
