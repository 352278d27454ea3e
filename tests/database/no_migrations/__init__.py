"""A schema that no release had before."""
