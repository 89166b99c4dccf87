"""This package reads a table's row changes from the trail, as typed Arrow batches."""
