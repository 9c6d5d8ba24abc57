-- The whole file format of a knowledge base, first version. Read it top to bottom:
-- sources and text, then names, then what was claimed and what it adds up to, then
-- the schema and its gate, then what models were asked, then questions, then the
-- tripartite graph, then bookkeeping, then the views that are the public face.
--
-- Positions are code points. Derived tables stand in derived.sql and may be dropped.

-- Sources and text ---------------------------------------------------------------

CREATE TABLE kg_sources (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,          -- first part of the uri of its documents
  kind TEXT NOT NULL,                 -- folder, text
  root TEXT NOT NULL,                 -- absolute path of a folder; '' for text
  dialect TEXT NOT NULL DEFAULT 'plain',
  options TEXT NOT NULL DEFAULT '{}',
  added TEXT NOT NULL
);

CREATE TABLE kg_documents (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uri TEXT NOT NULL UNIQUE,
  source INTEGER REFERENCES kg_sources(id) ON DELETE CASCADE,
  path TEXT NOT NULL DEFAULT '',      -- relative to the source's root, with '/'
  kind TEXT NOT NULL,                 -- note, text, row, conversation
  title TEXT NOT NULL,
  name TEXT NOT NULL,                 -- what a link calls it
  name_key TEXT NOT NULL,             -- key of the last part of name: link targets are found by it
  group_key TEXT NOT NULL DEFAULT '', -- notes whose names could have one key share it
  entity INTEGER REFERENCES kg_entities(id) ON DELETE SET NULL,
  entity_type TEXT NOT NULL DEFAULT '', -- what the note says its subject is
  content_hash TEXT NOT NULL,         -- sha256 of the file's bytes
  reading TEXT NOT NULL DEFAULT '',   -- what read it: parser, dialect, schema mapping; changed = read again
  metadata TEXT NOT NULL DEFAULT '{}',
  folder TEXT NOT NULL DEFAULT '',
  private INTEGER NOT NULL DEFAULT 0,
  length INTEGER NOT NULL DEFAULT 0,
  scanned INTEGER NOT NULL DEFAULT 0, -- 0: names have yet to be looked for in it
  added TEXT NOT NULL,
  updated TEXT NOT NULL
);
CREATE INDEX kg_documents_source ON kg_documents(source, path);
CREATE INDEX kg_documents_name_key ON kg_documents(name_key);
CREATE INDEX kg_documents_group_key ON kg_documents(group_key);
CREATE INDEX kg_documents_entity ON kg_documents(entity);
CREATE INDEX kg_documents_hash ON kg_documents(content_hash);
CREATE INDEX kg_documents_folder ON kg_documents(folder);
CREATE INDEX kg_documents_updated ON kg_documents(updated);
CREATE INDEX kg_documents_unscanned ON kg_documents(id) WHERE scanned = 0;

CREATE TABLE kg_sections (
  id INTEGER PRIMARY KEY,
  document INTEGER NOT NULL REFERENCES kg_documents(id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  parent INTEGER REFERENCES kg_sections(id) ON DELETE SET NULL,
  level INTEGER NOT NULL,
  heading TEXT NOT NULL,
  start INTEGER NOT NULL,
  end INTEGER NOT NULL,
  UNIQUE (document, seq)
);
CREATE INDEX kg_sections_parent ON kg_sections(parent);

CREATE TABLE kg_tags (
  document INTEGER NOT NULL REFERENCES kg_documents(id) ON DELETE CASCADE,
  tag TEXT NOT NULL,
  PRIMARY KEY (document, tag)
) WITHOUT ROWID;
CREATE INDEX kg_tags_tag ON kg_tags(tag);

CREATE TABLE kg_chunks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  document INTEGER NOT NULL REFERENCES kg_documents(id) ON DELETE CASCADE,
  section INTEGER REFERENCES kg_sections(id) ON DELETE SET NULL,
  seq INTEGER NOT NULL,
  start INTEGER NOT NULL,
  end INTEGER NOT NULL,
  line INTEGER NOT NULL,              -- 1-based line of its first character
  tokens INTEGER NOT NULL,            -- an estimate
  text TEXT NOT NULL,
  search_text TEXT,                   -- what full text reads, where it differs (CJK pairs)
  heading TEXT NOT NULL DEFAULT '',   -- heading path, 'A > B'
  content_hash TEXT NOT NULL
);
CREATE INDEX kg_chunks_document ON kg_chunks(document, seq);
CREATE INDEX kg_chunks_section ON kg_chunks(section);
CREATE INDEX kg_chunks_hash ON kg_chunks(content_hash);

CREATE VIEW kg_chunk_search AS
  SELECT c.id AS id, d.title AS title, c.heading AS heading, coalesce(c.search_text, c.text) AS text
  FROM kg_chunks c JOIN kg_documents d ON d.id = c.document;

CREATE VIRTUAL TABLE kg_chunks_fts USING fts5(
  title, heading, text,
  content='kg_chunk_search', content_rowid='id',
  tokenize='porter unicode61 remove_diacritics 2'
);

-- Names --------------------------------------------------------------------------

CREATE TABLE kg_entities (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  type TEXT NOT NULL DEFAULT '',
  key TEXT NOT NULL,
  origin TEXT NOT NULL,               -- link, lexical, llm, import, user
  merged_into INTEGER REFERENCES kg_entities(id) ON DELETE SET NULL,
  UNIQUE (key, type)
);
CREATE INDEX kg_entities_type ON kg_entities(type);
CREATE INDEX kg_entities_merged ON kg_entities(merged_into) WHERE merged_into IS NOT NULL;

CREATE TABLE kg_aliases (            -- every surface form, the entity's own name included
  id INTEGER PRIMARY KEY,
  entity INTEGER NOT NULL REFERENCES kg_entities(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  key TEXT NOT NULL,
  kind TEXT NOT NULL,                 -- name, title, alias, spelling
  origin TEXT NOT NULL,
  scanned INTEGER NOT NULL DEFAULT 0, -- 0: older documents have yet to be searched for it
  UNIQUE (entity, name)
);
CREATE INDEX kg_aliases_key ON kg_aliases(key);
CREATE INDEX kg_aliases_unscanned ON kg_aliases(id) WHERE scanned = 0;

CREATE VIRTUAL TABLE kg_names_fts USING fts5(
  name, content='kg_aliases', content_rowid='id', tokenize='trigram'
);
CREATE TRIGGER kg_aliases_ai AFTER INSERT ON kg_aliases BEGIN
  INSERT INTO kg_names_fts(rowid, name) VALUES (new.id, new.name);
END;
CREATE TRIGGER kg_aliases_ad AFTER DELETE ON kg_aliases BEGIN
  INSERT INTO kg_names_fts(kg_names_fts, rowid, name) VALUES ('delete', old.id, old.name);
END;
CREATE TRIGGER kg_aliases_au AFTER UPDATE OF name ON kg_aliases BEGIN
  INSERT INTO kg_names_fts(kg_names_fts, rowid, name) VALUES ('delete', old.id, old.name);
  INSERT INTO kg_names_fts(rowid, name) VALUES (new.id, new.name);
END;

CREATE TABLE kg_mentions (
  chunk INTEGER NOT NULL REFERENCES kg_chunks(id) ON DELETE CASCADE,
  start INTEGER NOT NULL,             -- within the chunk
  end INTEGER NOT NULL,
  key TEXT NOT NULL,                  -- of the name as written
  entity INTEGER REFERENCES kg_entities(id) ON DELETE CASCADE,
  origin TEXT NOT NULL,
  PRIMARY KEY (chunk, start, end, key)
) WITHOUT ROWID;
CREATE INDEX kg_mentions_entity ON kg_mentions(entity, chunk);
CREATE INDEX kg_mentions_key ON kg_mentions(key);

-- Claims, and the facts they add up to ----------------------------------------------

CREATE TABLE kg_triples (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  head INTEGER NOT NULL REFERENCES kg_entities(id) ON DELETE CASCADE,
  relation TEXT NOT NULL,
  tail INTEGER NOT NULL REFERENCES kg_entities(id) ON DELETE CASCADE,
  evidence INTEGER NOT NULL DEFAULT 0, -- how many rows of kg_evidence state it
  confidence REAL NOT NULL DEFAULT 1,
  UNIQUE (head, relation, tail)
);
CREATE INDEX kg_triples_tail ON kg_triples(tail, relation);
CREATE INDEX kg_triples_relation ON kg_triples(relation);

CREATE TABLE kg_attributes (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  entity INTEGER NOT NULL REFERENCES kg_entities(id) ON DELETE CASCADE,
  attribute TEXT NOT NULL,
  value TEXT NOT NULL,
  evidence INTEGER NOT NULL DEFAULT 0,
  confidence REAL NOT NULL DEFAULT 1,
  UNIQUE (entity, attribute, value)
);
CREATE INDEX kg_attributes_attribute ON kg_attributes(attribute, value);

CREATE TABLE kg_evidence (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,                 -- triple, attribute, type, alias
  head TEXT NOT NULL,                 -- names as written
  head_key TEXT,                      -- null: the head is the note itself
  head_type TEXT NOT NULL DEFAULT '',
  head_entity INTEGER REFERENCES kg_entities(id) ON DELETE SET NULL,
  relation TEXT NOT NULL,             -- relation or attribute name; 'type'; 'alias'
  tail TEXT NOT NULL,                 -- tail as written, or the value
  tail_key TEXT,                      -- triples only
  tail_type TEXT NOT NULL DEFAULT '',
  tail_entity INTEGER REFERENCES kg_entities(id) ON DELETE SET NULL,
  link_key TEXT,                      -- links only: key of the last part of the target
  reversed INTEGER NOT NULL DEFAULT 0, -- 1: written from tail to head; the fact reads the other way
  chunk INTEGER NOT NULL REFERENCES kg_chunks(id) ON DELETE CASCADE,
  start INTEGER NOT NULL,             -- of the quote, within the chunk
  end INTEGER NOT NULL,
  quote TEXT NOT NULL,
  confidence REAL NOT NULL DEFAULT 1,
  origin TEXT NOT NULL,
  extraction INTEGER REFERENCES kg_extractions(id) ON DELETE SET NULL,
  schema_version INTEGER NOT NULL DEFAULT 1,
  detail TEXT NOT NULL DEFAULT '{}',  -- how it was written: syntax, span, key, heading, label
  triple INTEGER REFERENCES kg_triples(id) ON DELETE SET NULL,
  attribute INTEGER REFERENCES kg_attributes(id) ON DELETE SET NULL,
  UNIQUE (chunk, start, end, kind, head, relation, tail, detail)
);
CREATE INDEX kg_evidence_triple ON kg_evidence(triple) WHERE triple IS NOT NULL;
CREATE INDEX kg_evidence_attribute ON kg_evidence(attribute) WHERE attribute IS NOT NULL;
CREATE INDEX kg_evidence_head_entity ON kg_evidence(head_entity);
CREATE INDEX kg_evidence_tail_entity ON kg_evidence(tail_entity) WHERE tail_entity IS NOT NULL;
CREATE INDEX kg_evidence_head_key ON kg_evidence(head_key) WHERE head_key IS NOT NULL;
CREATE INDEX kg_evidence_tail_key ON kg_evidence(tail_key) WHERE tail_key IS NOT NULL;
CREATE INDEX kg_evidence_link_key ON kg_evidence(link_key) WHERE link_key IS NOT NULL;
CREATE INDEX kg_evidence_extraction ON kg_evidence(extraction) WHERE extraction IS NOT NULL;
CREATE INDEX kg_evidence_loose_triple ON kg_evidence(id) WHERE kind = 'triple' AND triple IS NULL;
CREATE INDEX kg_evidence_loose_attribute ON kg_evidence(id) WHERE kind = 'attribute' AND attribute IS NULL;

-- The schema and its gate --------------------------------------------------------

CREATE TABLE kg_schema_versions (
  version INTEGER PRIMARY KEY,
  template TEXT NOT NULL,
  actor TEXT NOT NULL,
  at TEXT NOT NULL,
  note TEXT NOT NULL DEFAULT '',
  diff TEXT NOT NULL DEFAULT '{}'
);

CREATE TABLE kg_types (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,                 -- entity_type, relation, attribute
  name TEXT NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  aliases TEXT NOT NULL DEFAULT '[]',
  domain TEXT NOT NULL DEFAULT '[]',
  range TEXT NOT NULL DEFAULT '[]',
  list INTEGER NOT NULL DEFAULT 0,
  symmetric INTEGER NOT NULL DEFAULT 0,
  inverse TEXT,
  value_kind TEXT,                    -- attributes: text, date, number, url
  origin TEXT NOT NULL,               -- template, user, proposal, model
  added_in INTEGER NOT NULL REFERENCES kg_schema_versions(version),
  retired_in INTEGER REFERENCES kg_schema_versions(version),
  UNIQUE (kind, name)
);

CREATE TABLE kg_proposals (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  key TEXT NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  confidence REAL NOT NULL DEFAULT 0,
  support INTEGER NOT NULL DEFAULT 0,
  nearest INTEGER REFERENCES kg_types(id) ON DELETE SET NULL,
  similarity REAL,
  status TEXT NOT NULL DEFAULT 'muted',  -- muted, open, approved, mapped, rejected, postponed
  mapped_to INTEGER REFERENCES kg_types(id) ON DELETE SET NULL,
  asked_again INTEGER NOT NULL DEFAULT 0,
  decided_by TEXT,
  decided_at TEXT,
  decision_note TEXT,
  schema_version INTEGER REFERENCES kg_schema_versions(version),
  UNIQUE (kind, key)
);

CREATE TABLE kg_proposal_evidence (
  id INTEGER PRIMARY KEY,
  proposal INTEGER NOT NULL REFERENCES kg_proposals(id) ON DELETE CASCADE,
  chunk INTEGER NOT NULL REFERENCES kg_chunks(id) ON DELETE CASCADE,
  start INTEGER NOT NULL,
  end INTEGER NOT NULL,
  quote TEXT NOT NULL,
  confidence REAL NOT NULL,
  instead_of TEXT,
  extraction INTEGER REFERENCES kg_extractions(id) ON DELETE SET NULL,
  UNIQUE (proposal, chunk, start, end)
);
CREATE INDEX kg_proposal_evidence_chunk ON kg_proposal_evidence(chunk);
CREATE INDEX kg_proposal_evidence_extraction ON kg_proposal_evidence(extraction);

CREATE TABLE kg_merges (
  id INTEGER PRIMARY KEY,
  kept_key TEXT NOT NULL,             -- natural keys, so that a decision outlives its rows
  kept_type TEXT NOT NULL,
  merged_key TEXT NOT NULL,
  merged_type TEXT NOT NULL,
  reason TEXT NOT NULL,
  doubt REAL,
  status TEXT NOT NULL,               -- suggested, approved, rejected, undone
  decided_by TEXT,
  decided_at TEXT,
  UNIQUE (kept_key, kept_type, merged_key, merged_type)
);

-- What models were asked ------------------------------------------------------------

CREATE TABLE kg_extractions (
  id INTEGER PRIMARY KEY,
  model TEXT NOT NULL,
  prompt_hash TEXT NOT NULL,
  window_hash TEXT NOT NULL,
  schema_version INTEGER NOT NULL REFERENCES kg_schema_versions(version),
  mode TEXT NOT NULL,
  status TEXT NOT NULL,               -- claimed, done, failed, replaced
  error TEXT,
  reply TEXT,
  dropped TEXT NOT NULL DEFAULT '[]', -- quarantined items with their reasons
  kept INTEGER NOT NULL DEFAULT 0,
  claimed_by TEXT,
  started TEXT,
  finished TEXT
);
CREATE INDEX kg_extractions_status ON kg_extractions(status);

CREATE TABLE kg_extraction_chunks (
  extraction INTEGER NOT NULL REFERENCES kg_extractions(id) ON DELETE CASCADE,
  number INTEGER NOT NULL,            -- [1], [2] … in the prompt
  chunk INTEGER REFERENCES kg_chunks(id) ON DELETE SET NULL,
  content_hash TEXT NOT NULL,
  PRIMARY KEY (extraction, number)
) WITHOUT ROWID;
CREATE INDEX kg_extraction_chunks_chunk ON kg_extraction_chunks(chunk);
CREATE INDEX kg_extraction_chunks_hash ON kg_extraction_chunks(content_hash);

CREATE TABLE kg_budgets (
  id INTEGER PRIMARY KEY,
  scope TEXT NOT NULL UNIQUE,         -- knowledge_base, site, run:<id>
  unit TEXT NOT NULL,                 -- usd, tokens
  amount REAL NOT NULL,
  soft INTEGER NOT NULL DEFAULT 0,
  set_at TEXT NOT NULL
);

CREATE TABLE kg_ledger (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at TEXT NOT NULL,
  run TEXT NOT NULL,
  process TEXT NOT NULL,
  purpose TEXT NOT NULL,              -- extract, plan, answer, reflect, name, embed …
  model TEXT NOT NULL,
  reserved_tokens INTEGER NOT NULL DEFAULT 0,
  reserved_cost REAL,
  input_tokens INTEGER,
  output_tokens INTEGER,
  cost REAL,
  status TEXT NOT NULL,               -- reserved, settled, lost, released
  settled_at TEXT,
  log_id TEXT
);
CREATE INDEX kg_ledger_status ON kg_ledger(status);
CREATE INDEX kg_ledger_run ON kg_ledger(run);

-- Questions ---------------------------------------------------------------------

CREATE TABLE kg_questions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  question TEXT NOT NULL,
  asked TEXT NOT NULL,
  verdict TEXT NOT NULL,              -- answered, partial, abstained, evidence
  answer TEXT NOT NULL DEFAULT '',
  missing TEXT NOT NULL DEFAULT '',
  model TEXT,
  previous INTEGER REFERENCES kg_questions(id) ON DELETE SET NULL,
  options TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX kg_questions_previous ON kg_questions(previous);

CREATE TABLE kg_steps (
  id INTEGER PRIMARY KEY,
  question INTEGER NOT NULL REFERENCES kg_questions(id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  kind TEXT NOT NULL,                 -- plan, route, answer, reflect, stop
  detail TEXT NOT NULL DEFAULT '{}',
  UNIQUE (question, seq)
);

CREATE TABLE kg_citations (
  question INTEGER NOT NULL REFERENCES kg_questions(id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  chunk INTEGER REFERENCES kg_chunks(id) ON DELETE SET NULL,
  uri TEXT NOT NULL,
  heading TEXT NOT NULL DEFAULT '',
  line INTEGER,
  start INTEGER,
  end INTEGER,
  quote TEXT NOT NULL,
  content_hash TEXT NOT NULL,         -- of the chunk when it was cited: differs = stale
  PRIMARY KEY (question, number)
) WITHOUT ROWID;
CREATE INDEX kg_citations_chunk ON kg_citations(chunk);

-- Tripartite graph ----------------------------------------------------------------

CREATE TABLE kg_concept_classes (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);

CREATE TABLE kg_concepts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  class INTEGER NOT NULL REFERENCES kg_concept_classes(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  definition TEXT NOT NULL DEFAULT '',
  synonyms TEXT NOT NULL DEFAULT '[]',
  parent INTEGER REFERENCES kg_concepts(id) ON DELETE SET NULL,
  UNIQUE (class, name)
);
CREATE INDEX kg_concepts_parent ON kg_concepts(parent);

CREATE TABLE kg_findings (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  concept INTEGER NOT NULL REFERENCES kg_concepts(id) ON DELETE CASCADE,
  chunk INTEGER REFERENCES kg_chunks(id) ON DELETE CASCADE,
  object INTEGER REFERENCES kg_documents(id) ON DELETE CASCADE,
  summary TEXT NOT NULL,
  quote TEXT NOT NULL,
  start INTEGER NOT NULL,
  end INTEGER NOT NULL,
  model TEXT NOT NULL,                -- or 'lexical'
  prompt_hash TEXT NOT NULL DEFAULT '',
  CHECK (chunk IS NOT NULL OR object IS NOT NULL)
);
CREATE INDEX kg_findings_concept ON kg_findings(concept);
CREATE INDEX kg_findings_chunk ON kg_findings(chunk);
CREATE INDEX kg_findings_object ON kg_findings(object);

CREATE TABLE kg_assessments (
  id INTEGER PRIMARY KEY,
  concept INTEGER NOT NULL REFERENCES kg_concepts(id) ON DELETE CASCADE,
  chunk INTEGER REFERENCES kg_chunks(id) ON DELETE CASCADE,
  object INTEGER REFERENCES kg_documents(id) ON DELETE CASCADE,
  prompt_hash TEXT NOT NULL,
  relevant INTEGER NOT NULL,
  UNIQUE (concept, chunk, object, prompt_hash)
);
CREATE INDEX kg_assessments_chunk ON kg_assessments(chunk);
CREATE INDEX kg_assessments_object ON kg_assessments(object);

-- Bookkeeping ---------------------------------------------------------------------

CREATE TABLE kg_settings (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL                 -- JSON
) WITHOUT ROWID;

CREATE TABLE kg_changes (             -- what derived indexes follow; one row a changed thing, the last operation
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  "table" TEXT NOT NULL,
  id INTEGER NOT NULL,
  operation TEXT NOT NULL,            -- insert, update, delete
  UNIQUE ("table", id) ON CONFLICT REPLACE
);

CREATE TABLE kg_skipped (             -- what the last run over a source could not read, and why
  source INTEGER NOT NULL REFERENCES kg_sources(id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  reason TEXT NOT NULL,
  at TEXT NOT NULL,
  PRIMARY KEY (source, path)
) WITHOUT ROWID;

-- The public face -------------------------------------------------------------------

CREATE VIEW kg_facts AS
  SELECT t.id AS id, 'triple' AS kind, h.name AS head, h.type AS head_type, t.relation AS relation,
         a.name AS tail, a.type AS tail_type, t.evidence AS evidence, t.confidence AS confidence,
         (SELECT e.quote FROM kg_evidence e WHERE e.triple = t.id ORDER BY e.confidence DESC, e.id LIMIT 1) AS quote,
         (SELECT d.uri FROM kg_evidence e JOIN kg_chunks c ON c.id = e.chunk JOIN kg_documents d ON d.id = c.document
           WHERE e.triple = t.id ORDER BY e.confidence DESC, e.id LIMIT 1) AS uri,
         t.head AS head_id, t.tail AS tail_id
  FROM kg_triples t JOIN kg_entities h ON h.id = t.head JOIN kg_entities a ON a.id = t.tail
  UNION ALL
  SELECT t.id, 'attribute', h.name, h.type, t.attribute, t.value, '', t.evidence, t.confidence,
         (SELECT e.quote FROM kg_evidence e WHERE e.attribute = t.id ORDER BY e.confidence DESC, e.id LIMIT 1),
         (SELECT d.uri FROM kg_evidence e JOIN kg_chunks c ON c.id = e.chunk JOIN kg_documents d ON d.id = c.document
           WHERE e.attribute = t.id ORDER BY e.confidence DESC, e.id LIMIT 1),
         t.entity, NULL
  FROM kg_attributes t JOIN kg_entities h ON h.id = t.entity;

CREATE VIEW kg_entity_facts AS
  SELECT head AS entity, id AS triple, 'out' AS direction, relation, tail AS other, evidence FROM kg_triples
  UNION ALL
  SELECT tail, id, 'in', relation, head, evidence FROM kg_triples;

CREATE VIEW kg_document_entities AS
  SELECT c.document AS document, m.entity AS entity, count(*) AS mentions, min(c.id) AS first_chunk
  FROM kg_mentions m JOIN kg_chunks c ON c.id = m.chunk
  WHERE m.entity IS NOT NULL
  GROUP BY c.document, m.entity;

CREATE VIEW kg_review AS
  SELECT 'proposal' AS what, id, kind || ' ' || name AS name, confidence AS score, support, status FROM kg_proposals
  WHERE status IN ('open', 'postponed')
  UNION ALL
  SELECT 'merge', id, merged_key || ' = ' || kept_key, 1 - doubt, NULL, status FROM kg_merges WHERE status = 'suggested';
