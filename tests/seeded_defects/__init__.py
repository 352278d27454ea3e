"""Defects that are seeded into the code of a tree, one at a time, to see which tests catch them."""
