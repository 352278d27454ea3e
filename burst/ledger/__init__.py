"""What is remembered of bursts, in SQLite or PostgreSQL: intents before calls, money, and who may write.

Each write of the service carries the fence of its lease; one whose fence is old is undone. Money is whole
micro-units, times are seconds since 1970. `ledger` is the way in; each other file has a table, and the
statements about it.
"""
