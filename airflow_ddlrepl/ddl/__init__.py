"""Kinds of schema change, one file each, and how to find them between two shapes of a table.

`spot.spot(old, new)` finds them; each knows how to apply itself to a shape and what it endangers.
"""
