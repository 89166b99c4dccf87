"""This package defines the kinds of schema change, one file each, and finds them between two shapes of a table.

`diff.diff(old, new)` finds them; each knows how to apply itself to a shape and what it endangers.
"""
