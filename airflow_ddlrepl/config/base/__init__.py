"""What the sections of a channel file are made of: a base class, name patterns, moments, variables."""
