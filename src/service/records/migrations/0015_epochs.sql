-- The epochs of the bucket that processes of these records have written. One that is not here was written by a copy of
-- the records, or by those that these are a copy of.
CREATE TABLE epochs (
    epoch      TEXT   PRIMARY KEY,
    created_at BIGINT NOT NULL
);
