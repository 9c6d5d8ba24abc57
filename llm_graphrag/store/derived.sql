-- Derived tables: counted from the source tables, dropped and made again by `rebuild`.

CREATE TABLE IF NOT EXISTS kg_counts (
  kind TEXT NOT NULL,                 -- facts, chunks (per entity id); entity_type, relation, attribute, origin, folder, tag
  item NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (kind, item)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS kg_counts_top ON kg_counts(kind, n DESC);
