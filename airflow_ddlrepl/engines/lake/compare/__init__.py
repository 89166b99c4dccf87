"""This package compares tables of a lake with their sources, without Spark: PyIceberg reads them."""
