"""Renders the files that a Flux broker reads from frozen broker settings. Pure: no I/O, no clock."""
