"""A source: what is set up in it, and which of its tables are in the stream."""
