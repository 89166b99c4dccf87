"""What operators write for people."""
