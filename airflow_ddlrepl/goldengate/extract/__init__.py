"""Extract: the 14 stages from a DDL statement in the log to a record in the trail, one module each."""
