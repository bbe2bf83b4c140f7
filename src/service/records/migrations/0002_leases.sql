-- The right of one attempt to write to its job: `fence` is raised by each claim, and every later write
-- names it. `lease_until` says when an attempt that has not been heard of counts as lost.
-- A job that runs while this migration is made belongs to a service that has ended.
ALTER TABLE jobs ADD COLUMN fence BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN lease_until BIGINT;
