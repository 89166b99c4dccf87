"""The tables that the repository has, and the rows that it returns."""
