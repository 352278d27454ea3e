"""What can be wrong about a tree, or about the list of defects."""

from __future__ import annotations


class SeedError(Exception):
    """A defect cannot be seeded, or a tree cannot be worked with; the message says what would be right."""
