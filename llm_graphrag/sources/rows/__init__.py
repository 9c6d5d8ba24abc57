"""Sources whose documents are rows: tables in files, tables in SQLite, and the conversations of llm's log."""
