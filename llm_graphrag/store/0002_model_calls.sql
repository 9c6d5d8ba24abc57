-- What a model call was estimated at and for which window it was made; windows that are planned but not yet asked.

ALTER TABLE kg_ledger ADD COLUMN estimated_tokens INTEGER;  -- of the prompt, before the call
ALTER TABLE kg_ledger ADD COLUMN extraction INTEGER REFERENCES kg_extractions(id) ON DELETE SET NULL;
CREATE INDEX kg_ledger_extraction ON kg_ledger(extraction) WHERE extraction IS NOT NULL;

-- kg_extractions.status: planned, claimed, done, failed. kg_ledger.status: reserved, settled, lost, released.
ALTER TABLE kg_extractions ADD COLUMN private INTEGER NOT NULL DEFAULT 0;  -- a window holds private notes or public ones
ALTER TABLE kg_extractions ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
CREATE INDEX kg_extractions_window ON kg_extractions(window_hash);
