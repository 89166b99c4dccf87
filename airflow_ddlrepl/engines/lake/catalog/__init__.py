"""This package has the entries of a lake's catalog, their metadata files, and the tables that a run stages beside them."""
