"""People ask for these: activate, compare, plan, status, controls."""
