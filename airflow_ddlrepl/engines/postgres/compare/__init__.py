"""This package compares the rows of a table at a source and at a target by digests."""
