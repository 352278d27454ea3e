"""The tables of the RESTful API: one file an aggregate, SQLAlchemy's Core, and alembic's migrations.

A file has the tables of one aggregate, its records, and the statements that read and write them.
"""
