"""The plans of many tables in log order."""
