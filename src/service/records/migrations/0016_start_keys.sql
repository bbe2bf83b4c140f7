-- What a client calls the start of an upload (header `Idempotency-Key`), so that it can repeat it.
ALTER TABLE assets ADD COLUMN start_key TEXT;
CREATE UNIQUE INDEX assets_by_start_key ON assets (user_id, start_key);
