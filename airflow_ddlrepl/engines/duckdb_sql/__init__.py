"""This package has what engines share that read, judge and compare a source's values by DuckDB's SQL, in memory."""
