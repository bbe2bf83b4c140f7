-- The token with which an upload was started; none for assets of earlier versions.
ALTER TABLE assets ADD COLUMN token_id BIGINT;
