"""Replicat: the 14 stages from a DDL statement in the trail to its end at a target, one module each."""
