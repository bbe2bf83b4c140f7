-- The trace that a job belongs to, as the value of the header `traceparent`.
ALTER TABLE jobs ADD COLUMN trace TEXT;
