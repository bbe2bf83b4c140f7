-- The rule of a preset for the names of result files, as JSON text, and the rule that a rapid model was
-- asked for with.
ALTER TABLE presets ADD COLUMN filename_rule TEXT;
ALTER TABLE rapids ADD COLUMN filename_rule TEXT;
