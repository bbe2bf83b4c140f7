-- Moments are microseconds since 1970 in UTC; truth values are 0 and 1.

CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE users (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    email         TEXT   NOT NULL UNIQUE,
    password_hash TEXT   NOT NULL,
    points        BIGINT NOT NULL,
    quota_bytes   BIGINT NOT NULL,
    used_bytes    BIGINT NOT NULL,
    created_at    BIGINT NOT NULL
);

CREATE TABLE tokens (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id            BIGINT NOT NULL,
    name               TEXT   NOT NULL,
    secret_hash        TEXT   NOT NULL,
    optimization_count BIGINT NOT NULL,
    last_used_at       BIGINT,
    created_at         BIGINT NOT NULL,
    updated_at         BIGINT NOT NULL
);
CREATE INDEX tokens_of_user ON tokens (user_id, id);

CREATE TABLE assets (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id       BIGINT NOT NULL,
    uuid          TEXT   NOT NULL,
    name          TEXT   NOT NULL,
    name_folded   TEXT   NOT NULL,
    is_zip        BIGINT NOT NULL,
    upload_status TEXT   NOT NULL,
    format        TEXT   NOT NULL,
    main_file     TEXT   NOT NULL,
    size          BIGINT NOT NULL,
    scale_factor  DOUBLE NOT NULL,
    has_errors    BIGINT NOT NULL,
    error_message TEXT,
    metadata      TEXT,
    created_at    BIGINT NOT NULL
);
-- The folded names stand in these indexes so that a search reads nothing else.
CREATE INDEX assets_of_user ON assets (user_id, id, name_folded);

-- A file of an asset or a rapid model. `blob` is the key of its bytes; none while they are awaited.
CREATE TABLE files (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    owner_kind  TEXT   NOT NULL,
    owner_id    BIGINT NOT NULL,
    area        TEXT   NOT NULL,
    name        TEXT   NOT NULL,
    blob        TEXT,
    size        BIGINT NOT NULL,
    md5         TEXT   NOT NULL,
    crc32       BIGINT NOT NULL,
    modified_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX files_of_owner ON files (owner_kind, owner_id, area, name);
CREATE INDEX files_by_blob ON files (blob);

CREATE TABLE rapids (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id      BIGINT NOT NULL,
    token_id     BIGINT NOT NULL,
    uuid         TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    name_folded  TEXT   NOT NULL,
    asset_id     BIGINT NOT NULL,
    asset_name   TEXT   NOT NULL,
    status       TEXT   NOT NULL,
    config       TEXT   NOT NULL,
    preset_id    BIGINT,
    preset_name  TEXT,
    export_name  TEXT,
    core_version TEXT   NOT NULL,
    scale_factor DOUBLE NOT NULL,
    report       TEXT,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);
CREATE INDEX rapids_of_user ON rapids (user_id, id, name_folded);
CREATE INDEX rapids_of_asset ON rapids (asset_id, id);

CREATE TABLE tags (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id     BIGINT NOT NULL,
    owner_kind  TEXT   NOT NULL,
    owner_id    BIGINT NOT NULL,
    name        TEXT   NOT NULL,
    name_folded TEXT   NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL
);
CREATE UNIQUE INDEX tags_of_owner ON tags (owner_kind, owner_id, name);
CREATE INDEX tags_of_user ON tags (user_id, owner_kind, name);

CREATE TABLE presets (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id      BIGINT NOT NULL,
    name         TEXT   NOT NULL,
    description  TEXT   NOT NULL,
    folded       TEXT   NOT NULL,
    config       TEXT   NOT NULL,
    core_version TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);
CREATE INDEX presets_of_user ON presets (user_id, id);

-- One row per piece of work; it commits together with the record it works for.
CREATE TABLE jobs (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    key           TEXT   NOT NULL,
    kind          TEXT   NOT NULL,
    user_id       BIGINT NOT NULL,
    asset_id      BIGINT NOT NULL,
    rapid_id      BIGINT,
    conversion_id BIGINT,
    state         TEXT   NOT NULL,
    attempts      BIGINT NOT NULL,
    progress      BIGINT NOT NULL,
    step          TEXT   NOT NULL,
    output        TEXT,
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL,
    started_at    BIGINT,
    finished_at   BIGINT
);
CREATE INDEX jobs_by_state ON jobs (state, id);
CREATE INDEX jobs_of_asset ON jobs (asset_id, id);
CREATE UNIQUE INDEX jobs_of_rapid ON jobs (rapid_id);

CREATE TABLE conversions (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    asset_id   BIGINT NOT NULL,
    formats    TEXT   NOT NULL,
    status     TEXT   NOT NULL,
    message    TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX conversions_of_asset ON conversions (asset_id, id);

CREATE TABLE embeds (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id     BIGINT NOT NULL,
    identifier  TEXT   NOT NULL UNIQUE,
    name        TEXT   NOT NULL,
    name_folded TEXT   NOT NULL,
    rapid_id    BIGINT,
    asset_id    BIGINT,
    config      TEXT   NOT NULL,
    view_count  BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL
);
CREATE INDEX embeds_of_user ON embeds (user_id, id, name_folded);

CREATE TABLE webhooks (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id        BIGINT NOT NULL,
    url            TEXT   NOT NULL,
    secret         TEXT   NOT NULL,
    verify_ssl     BIGINT NOT NULL,
    last_status    BIGINT,
    failed_calls   BIGINT NOT NULL,
    last_called_at BIGINT,
    notified_at    BIGINT,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL
);
CREATE INDEX webhooks_of_user ON webhooks (user_id, id);

-- The numbers up to 1000 belong to the factory presets.
-- only SQLite
INSERT INTO sqlite_sequence (name, seq) VALUES ('presets', 1000);
-- only PostgreSQL
ALTER SEQUENCE presets_id_seq RESTART WITH 1001;
-- both
