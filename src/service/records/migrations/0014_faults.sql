-- A fault of the surroundings (a full disk, a storage that is away) costs a job no attempt. It is claimed again after
-- `resume_at`, by the clock of the database, and `faults` says how often that happened.
ALTER TABLE jobs ADD COLUMN resume_at BIGINT;
ALTER TABLE jobs ADD COLUMN faults BIGINT NOT NULL DEFAULT 0;
