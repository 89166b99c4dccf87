"""Compare: is every table, column and row of the target what the source has, and if not, where?"""
