-- Results whose pictures are still to be drawn: added in the commit that records the result, removed in the one that
-- adds the pictures. Until `lease_until`, by the clock of the database, the process that claimed them draws them.
CREATE TABLE drawings (
    rapid_id    BIGINT PRIMARY KEY,
    user_id     BIGINT NOT NULL,
    asset_id    BIGINT NOT NULL,
    attempts    BIGINT NOT NULL DEFAULT 0,
    lease_until BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX drawings_of_asset ON drawings (asset_id);
