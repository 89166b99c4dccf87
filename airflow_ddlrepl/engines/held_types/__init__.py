"""This package has what engines share that hold the types of a source as types of their own, and others as texts."""
