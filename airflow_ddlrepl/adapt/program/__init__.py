"""A program lines up the plans of many tables in log order."""
