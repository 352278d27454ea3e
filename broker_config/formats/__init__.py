"""Flux's own formats, one file each: a reader and a writer, standard library only, Python 3.8, no I/O."""
