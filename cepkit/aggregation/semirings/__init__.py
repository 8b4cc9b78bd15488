"""Aggregates as semirings: added up over matches, multiplied along one."""
