"""This package reads the demo's lake by three readers that share no code, and compares what they read."""
