-- Events for webhooks: a row for each event and each webhook that receives it, added with what caused the event.
CREATE TABLE deliveries (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The id of the event, the same in every attempt.
    event      TEXT   NOT NULL,
    webhook_id BIGINT NOT NULL,
    user_id    BIGINT NOT NULL,
    event_type TEXT   NOT NULL,
    data       TEXT   NOT NULL,
    -- The area of the files whose links are added when the event is sent.
    links      TEXT,
    state      TEXT   NOT NULL,
    attempts   BIGINT NOT NULL,
    -- These two by the clock of the database.
    due_at     BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    ended_at   BIGINT
);
CREATE UNIQUE INDEX deliveries_of_event ON deliveries (webhook_id, event);
CREATE INDEX deliveries_by_state ON deliveries (state, webhook_id, id);

-- The lease of the process that sends the events of a webhook, and the pause after calls that failed, by the clock of
-- the database.
ALTER TABLE webhooks ADD COLUMN fence BIGINT NOT NULL DEFAULT 0;
ALTER TABLE webhooks ADD COLUMN lease_until BIGINT NOT NULL DEFAULT 0;
ALTER TABLE webhooks ADD COLUMN failures_in_row BIGINT NOT NULL DEFAULT 0;
ALTER TABLE webhooks ADD COLUMN paused_until BIGINT NOT NULL DEFAULT 0;
