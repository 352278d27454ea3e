"""Alembic's revisions of these tables, from the first release on."""
