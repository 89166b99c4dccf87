"""What every schema change is made of."""
