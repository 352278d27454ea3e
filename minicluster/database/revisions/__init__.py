"""How alembic runs and writes the revisions of any schema; the revisions are in each schema's own package."""
