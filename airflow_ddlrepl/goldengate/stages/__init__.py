"""The stages that Extract and Replicat have in common, one module each."""
