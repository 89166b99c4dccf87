"""This package reads what the statements of a source say: as evidence, and as code that a target may run."""
