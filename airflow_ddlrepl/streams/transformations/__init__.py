"""This package transforms messages that a rule is true for: row migration, then declared changes of LCRs."""
