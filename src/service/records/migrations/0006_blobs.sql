-- Keys of blobs that are being stored: each is recorded before its first byte, and removed by the commit that
-- gives the blob to a file.
CREATE TABLE pending_blobs (
    blob       TEXT   PRIMARY KEY,
    created_at BIGINT NOT NULL
);
CREATE INDEX pending_blobs_by_age ON pending_blobs (created_at);

-- Blobs that nothing referred to at `since`. Keys are never used again, so nothing ever will.
CREATE TABLE stray_blobs (
    blob  TEXT   PRIMARY KEY,
    since BIGINT NOT NULL
);
CREATE INDEX stray_blobs_by_age ON stray_blobs (since);
