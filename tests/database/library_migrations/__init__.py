"""Two revisions, of which the second one makes a table anew on SQLite, which another one refers to."""
