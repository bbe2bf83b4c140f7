-- The length of each user's listings. `changes` is raised by each insertion and deletion, so an equal number means
-- that a listing has the same rows. Triggers keep both, so that services of an older version do, too.
CREATE TABLE counts (
    user_id BIGINT NOT NULL,
    listing TEXT   NOT NULL,
    items   BIGINT NOT NULL,
    changes BIGINT NOT NULL,
    PRIMARY KEY (user_id, listing)
);
-- only PostgreSQL
-- No row is added between the counting and the triggers.
LOCK TABLE assets, rapids, embeds IN SHARE ROW EXCLUSIVE MODE;
-- both
INSERT INTO counts (user_id, listing, items, changes) SELECT user_id, 'assets', COUNT(*), 0 FROM assets GROUP BY user_id;
INSERT INTO counts (user_id, listing, items, changes) SELECT user_id, 'rapids', COUNT(*), 0 FROM rapids GROUP BY user_id;
INSERT INTO counts (user_id, listing, items, changes) SELECT user_id, 'embeds', COUNT(*), 0 FROM embeds GROUP BY user_id;
-- only SQLite
CREATE TRIGGER assets_added AFTER INSERT ON assets BEGIN
    INSERT INTO counts (user_id, listing, items, changes) VALUES (NEW.user_id, 'assets', 1, 1)
    ON CONFLICT (user_id, listing) DO UPDATE SET items = items + 1, changes = changes + 1;
END;
CREATE TRIGGER assets_removed AFTER DELETE ON assets BEGIN
    UPDATE counts SET items = items - 1, changes = changes + 1 WHERE user_id = OLD.user_id AND listing = 'assets';
END;
CREATE TRIGGER rapids_added AFTER INSERT ON rapids BEGIN
    INSERT INTO counts (user_id, listing, items, changes) VALUES (NEW.user_id, 'rapids', 1, 1)
    ON CONFLICT (user_id, listing) DO UPDATE SET items = items + 1, changes = changes + 1;
END;
CREATE TRIGGER rapids_removed AFTER DELETE ON rapids BEGIN
    UPDATE counts SET items = items - 1, changes = changes + 1 WHERE user_id = OLD.user_id AND listing = 'rapids';
END;
CREATE TRIGGER embeds_added AFTER INSERT ON embeds BEGIN
    INSERT INTO counts (user_id, listing, items, changes) VALUES (NEW.user_id, 'embeds', 1, 1)
    ON CONFLICT (user_id, listing) DO UPDATE SET items = items + 1, changes = changes + 1;
END;
CREATE TRIGGER embeds_removed AFTER DELETE ON embeds BEGIN
    UPDATE counts SET items = items - 1, changes = changes + 1 WHERE user_id = OLD.user_id AND listing = 'embeds';
END;
-- only PostgreSQL
-- Once a statement, not once a row: a row that is updated a million times in one transaction gets slow.
CREATE FUNCTION count_rows() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    sign BIGINT := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
    INSERT INTO counts (user_id, listing, items, changes)
    SELECT user_id, TG_TABLE_NAME, sign * COUNT(*), 1 FROM changed GROUP BY user_id
    ON CONFLICT (user_id, listing)
    DO UPDATE SET items = counts.items + excluded.items, changes = counts.changes + 1;
    RETURN NULL;
END $$;
CREATE TRIGGER assets_added AFTER INSERT ON assets REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_rows();
CREATE TRIGGER assets_removed AFTER DELETE ON assets REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_rows();
CREATE TRIGGER rapids_added AFTER INSERT ON rapids REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_rows();
CREATE TRIGGER rapids_removed AFTER DELETE ON rapids REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_rows();
CREATE TRIGGER embeds_added AFTER INSERT ON embeds REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_rows();
CREATE TRIGGER embeds_removed AFTER DELETE ON embeds REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_rows();
-- both
