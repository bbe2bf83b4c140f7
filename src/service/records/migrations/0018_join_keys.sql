-- What clients call an upload by its name and content (header `Join-Key`), so that several of them send it together;
-- and whether a second one has joined.
ALTER TABLE assets ADD COLUMN join_key TEXT;
ALTER TABLE assets ADD COLUMN is_joined BIGINT NOT NULL DEFAULT 0;
CREATE INDEX assets_by_join_key ON assets (user_id, join_key);
