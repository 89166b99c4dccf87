"""The small languages of the channel file: name patterns, moments, conditions; and what its sections build on."""
