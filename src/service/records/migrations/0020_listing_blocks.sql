-- The rows of each listing whose ids divided by 4096 are equal, so that the place of a row is found without counting all
-- rows before it. Triggers keep the numbers, so that services of an older version do, too. Blocks that became empty stay.
CREATE TABLE listing_blocks (
    user_id BIGINT NOT NULL,
    listing TEXT   NOT NULL,
    block   BIGINT NOT NULL,
    items   BIGINT NOT NULL,
    PRIMARY KEY (user_id, listing, block)
);
-- only PostgreSQL
-- No row is added between the counting and the triggers.
LOCK TABLE assets, rapids, embeds IN SHARE ROW EXCLUSIVE MODE;
-- both
INSERT INTO listing_blocks (user_id, listing, block, items)
SELECT user_id, 'assets', id / 4096, COUNT(*) FROM assets GROUP BY user_id, id / 4096;
INSERT INTO listing_blocks (user_id, listing, block, items)
SELECT user_id, 'rapids', id / 4096, COUNT(*) FROM rapids GROUP BY user_id, id / 4096;
INSERT INTO listing_blocks (user_id, listing, block, items)
SELECT user_id, 'embeds', id / 4096, COUNT(*) FROM embeds GROUP BY user_id, id / 4096;
-- only SQLite
CREATE TRIGGER assets_added_to_block AFTER INSERT ON assets BEGIN
    INSERT INTO listing_blocks (user_id, listing, block, items) VALUES (NEW.user_id, 'assets', NEW.id / 4096, 1)
    ON CONFLICT (user_id, listing, block) DO UPDATE SET items = items + 1;
END;
CREATE TRIGGER assets_removed_from_block AFTER DELETE ON assets BEGIN
    UPDATE listing_blocks SET items = items - 1
    WHERE user_id = OLD.user_id AND listing = 'assets' AND block = OLD.id / 4096;
END;
CREATE TRIGGER rapids_added_to_block AFTER INSERT ON rapids BEGIN
    INSERT INTO listing_blocks (user_id, listing, block, items) VALUES (NEW.user_id, 'rapids', NEW.id / 4096, 1)
    ON CONFLICT (user_id, listing, block) DO UPDATE SET items = items + 1;
END;
CREATE TRIGGER rapids_removed_from_block AFTER DELETE ON rapids BEGIN
    UPDATE listing_blocks SET items = items - 1
    WHERE user_id = OLD.user_id AND listing = 'rapids' AND block = OLD.id / 4096;
END;
CREATE TRIGGER embeds_added_to_block AFTER INSERT ON embeds BEGIN
    INSERT INTO listing_blocks (user_id, listing, block, items) VALUES (NEW.user_id, 'embeds', NEW.id / 4096, 1)
    ON CONFLICT (user_id, listing, block) DO UPDATE SET items = items + 1;
END;
CREATE TRIGGER embeds_removed_from_block AFTER DELETE ON embeds BEGIN
    UPDATE listing_blocks SET items = items - 1
    WHERE user_id = OLD.user_id AND listing = 'embeds' AND block = OLD.id / 4096;
END;
-- only PostgreSQL
CREATE OR REPLACE FUNCTION count_rows() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    sign BIGINT := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
    INSERT INTO counts (user_id, listing, items, changes)
    SELECT user_id, TG_TABLE_NAME, sign * COUNT(*), 1 FROM changed GROUP BY user_id
    ON CONFLICT (user_id, listing)
    DO UPDATE SET items = counts.items + excluded.items, changes = counts.changes + 1;
    INSERT INTO listing_blocks (user_id, listing, block, items)
    SELECT user_id, TG_TABLE_NAME, id / 4096, sign * COUNT(*) FROM changed GROUP BY user_id, id / 4096
    ON CONFLICT (user_id, listing, block)
    DO UPDATE SET items = listing_blocks.items + excluded.items;
    RETURN NULL;
END $$;
