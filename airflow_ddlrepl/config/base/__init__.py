"""What the sections of the channel file are made of."""
