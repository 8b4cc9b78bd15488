"""The language: queries as frozen values, made from text or by a builder."""
