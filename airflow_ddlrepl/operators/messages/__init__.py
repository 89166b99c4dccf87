"""This package has the texts that operators write for people."""
