"""The parameters of GoldenGate's Extract and Replicat that evaluate DDL, as sections of a channel file."""
