-- The key of the request that made a rapid model or an embed, if its client gave one: a request with the same key is
-- answered with what is there.
ALTER TABLE rapids ADD COLUMN request_key TEXT;
ALTER TABLE embeds ADD COLUMN request_key TEXT;
CREATE INDEX rapids_by_request_key ON rapids (asset_id, request_key);
CREATE INDEX embeds_by_request_key ON embeds (user_id, request_key);
