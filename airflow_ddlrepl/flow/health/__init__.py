"""This package says from the repository alone how a channel is: a verdict, its tables, and what waits for a person."""
