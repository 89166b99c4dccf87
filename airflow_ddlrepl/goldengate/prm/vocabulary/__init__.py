"""This package lists the words of GoldenGate's parameter files, with what becomes of each here."""
