"""Evaluate DDL as Oracle GoldenGate does: the pipelines of Extract and Replicat, with the parameters of their files."""
