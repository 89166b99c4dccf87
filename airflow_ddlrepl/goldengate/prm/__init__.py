"""This package reads GoldenGate's parameter files into the parameters of an Extract or a Replicat."""
