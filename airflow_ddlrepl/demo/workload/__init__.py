"""The rows that the demo writes: random values for every table of a real application, by its shape."""
