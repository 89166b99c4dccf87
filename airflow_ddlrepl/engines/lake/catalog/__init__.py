"""This package has a lake's catalog: its entries, their metadata files, and the tables that a run has staged."""
