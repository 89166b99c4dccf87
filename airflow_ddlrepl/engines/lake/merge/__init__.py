"""This package stages net changes as Parquet files and merges them into a lake's tables."""
