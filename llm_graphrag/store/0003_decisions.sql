-- Every decision of a person over what a model proposed, and windows to be asked about once more because of one.

CREATE TABLE kg_decisions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at TEXT NOT NULL,
  actor TEXT NOT NULL,
  kind TEXT NOT NULL,                 -- proposal, merge
  item INTEGER NOT NULL,              -- of kg_proposals, kg_merges
  subject TEXT NOT NULL,              -- in words, so that the log can be read when the row is gone
  action TEXT NOT NULL,               -- approve, map, reject, postpone, undo
  before TEXT NOT NULL,               -- status of the item before
  detail TEXT NOT NULL DEFAULT '{}',  -- what undo needs
  note TEXT NOT NULL DEFAULT '',
  schema_version INTEGER REFERENCES kg_schema_versions(version),
  undone_by INTEGER REFERENCES kg_decisions(id)
);
CREATE INDEX kg_decisions_item ON kg_decisions(kind, item);

ALTER TABLE kg_extractions ADD COLUMN ask_again INTEGER NOT NULL DEFAULT 0;  -- done, but the schema has grown for it
