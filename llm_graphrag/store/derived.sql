-- Derived tables: counted from the source tables, dropped and made again by `rebuild`.

CREATE TABLE IF NOT EXISTS kg_counts (
  kind TEXT NOT NULL,                 -- facts, chunks (per entity id); entity_type, relation, attribute, origin, folder, tag
  item NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (kind, item)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS kg_counts_top ON kg_counts(kind, n DESC);

CREATE TABLE IF NOT EXISTS kg_name_signatures (  -- which surface forms are spelled alike (name_signatures.py)
  id INTEGER PRIMARY KEY,             -- block * 256 + bit; -1: names has the number of the last surface form covered
  names BLOB NOT NULL                 -- a bitmap: bit p is set if the form whose id is block * 65536 + p has the bit
);
