"""A second revision that fails halfway."""
