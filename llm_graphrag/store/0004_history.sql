-- What runs have changed: notes and facts as they were before and after, readable when the rows are gone.

CREATE TABLE kg_runs (                -- one command, or one decision; there is none for what changed nothing
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at TEXT NOT NULL,
  actor TEXT NOT NULL,
  what TEXT NOT NULL,                 -- add, extract, replay, review, remove, merge, import, change
  detail TEXT NOT NULL DEFAULT '',    -- model, folder, what was merged
  schema_version INTEGER NOT NULL,    -- and the last decision, when it began: those in between are told apart by them
  decision INTEGER NOT NULL,
  counts TEXT                         -- JSON where changes are counted only, null where they are listed
);

CREATE TABLE kg_fact_log (            -- a fact that a run changed, under the names it has after it, or had before it
  run INTEGER NOT NULL REFERENCES kg_runs(id) ON DELETE CASCADE,
  kind TEXT NOT NULL,                 -- triple, attribute
  head TEXT NOT NULL,
  head_type TEXT NOT NULL,
  relation TEXT NOT NULL,
  tail TEXT NOT NULL,                 -- a name, or a value
  tail_type TEXT NOT NULL,
  evidence_before INTEGER NOT NULL,   -- statements; 0: the fact was not there
  evidence INTEGER NOT NULL,          -- 0: it is gone
  confidence_before REAL,
  confidence REAL,
  PRIMARY KEY (run, kind, head, head_type, relation, tail, tail_type)
) WITHOUT ROWID;

CREATE TABLE kg_note_log (            -- a note that a run added, changed, renamed or removed
  run INTEGER NOT NULL REFERENCES kg_runs(id) ON DELETE CASCADE,
  document INTEGER NOT NULL,          -- of kg_documents, while it is there
  uri_before TEXT,                    -- null: it was not there
  uri TEXT,                           -- null: it is gone
  hash_before TEXT,
  hash TEXT,
  PRIMARY KEY (run, document)
) WITHOUT ROWID;

CREATE VIEW kg_history AS
  SELECT r.id AS run, r.at AS at, r.actor AS actor, r.what AS what,
    CASE WHEN f.evidence_before = 0 THEN 'added' WHEN f.evidence = 0 THEN 'gone' ELSE 'changed' END AS operation,
    f.kind AS kind, f.head AS head, f.head_type AS head_type, f.relation AS relation, f.tail AS tail,
    f.tail_type AS tail_type, f.evidence_before AS evidence_before, f.evidence AS evidence,
    f.confidence_before AS confidence_before, f.confidence AS confidence
  FROM kg_fact_log f JOIN kg_runs r ON r.id = f.run;
