"""The checks of the demo: rewinds, a suspended table and a backfill, each compared with the source."""
