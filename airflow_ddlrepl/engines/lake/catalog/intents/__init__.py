"""This package stores what a run is about to publish in a catalog, and orders what is published step by step."""
