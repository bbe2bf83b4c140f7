-- The version of each file of a completed upload in the bucket, until its analysis has copied it.
CREATE TABLE incoming_files (
    file_id BIGINT PRIMARY KEY,
    etag    TEXT   NOT NULL,
    size    BIGINT NOT NULL
);
