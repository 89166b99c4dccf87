"""Transform: from the source's shape of a table to the one that a target is to have."""
