"""Drop what is derived and make it again from the source tables; no model is asked."""

from __future__ import annotations

import sqlite3

from . import counts, migrations, name_signatures
from .connection import transaction

DERIVED = ("kg_counts", "kg_name_signatures")


def rebuild(connection: sqlite3.Connection) -> None:
    """Make every derived table and both full-text indexes anew; two rebuilds give the same rows."""
    with transaction(connection):
        for table in DERIVED:
            connection.execute(f"DROP TABLE IF EXISTS {table}")
        migrations.make_derived(connection)
        counts.recount_all(connection)
        name_signatures.rebuild(connection)
        connection.execute("INSERT INTO kg_chunks_fts(kg_chunks_fts) VALUES ('rebuild')")
        connection.execute("INSERT INTO kg_names_fts(kg_names_fts) VALUES ('rebuild')")
