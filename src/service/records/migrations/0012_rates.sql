-- Requests of a user or an address in its current minute, counted by all services of these records. Only services of
-- a shared database write here.
-- only SQLite
CREATE TABLE rate_windows (
-- only PostgreSQL
-- The counts may be lost in a crash of the server, so they need no place in its log.
CREATE UNLOGGED TABLE rate_windows (
-- both
    requester TEXT   PRIMARY KEY,
    -- By the clock of the database.
    ends_at   BIGINT NOT NULL,
    -- Requests that services have taken to hand out. More than the limit when they asked for too many.
    taken     BIGINT NOT NULL
);
CREATE INDEX rate_windows_by_end ON rate_windows (ends_at);
