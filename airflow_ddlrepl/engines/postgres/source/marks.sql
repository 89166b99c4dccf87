-- The mark of each channel: the number and token of its newest capture. A copy of the database that is put back has an
-- older one than the channel's repository, however much log it has written since (marks.py).
CREATE TABLE IF NOT EXISTS ddlrepl.mark (
    channel text PRIMARY KEY REFERENCES ddlrepl.channel ON DELETE CASCADE,
    number bigint NOT NULL,
    token text NOT NULL CHECK (length(token) <= 64),
    after_token text NOT NULL CHECK (length(after_token) <= 64),
    made timestamptz NOT NULL DEFAULT now()
);

-- Writes a channel's mark, and nothing else. Returns a position of the log that lies before this transaction's commit and
-- after those of all that have ended; NULL where the channel is not known here.
CREATE OR REPLACE FUNCTION ddlrepl.put_mark(of_channel text, new_number bigint, new_token text, last_token text)
RETURNS pg_lsn LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = session_user AND (r.rolreplication OR r.rolsuper)) THEN
        RAISE insufficient_privilege USING MESSAGE = 'only a role that may use replication slots may write a mark';
    END IF;
    INSERT INTO ddlrepl.mark AS m (channel, number, token, after_token)
    SELECT c.name, new_number, new_token, last_token FROM ddlrepl.channel c WHERE c.name = of_channel
    ON CONFLICT (channel) DO UPDATE
    SET number = excluded.number, token = excluded.token, after_token = excluded.after_token, made = now();
    RETURN CASE WHEN FOUND THEN pg_current_wal_insert_lsn() END;
END
$$;

-- Returns a channel's mark.
CREATE OR REPLACE FUNCTION ddlrepl.marked(of_channel text)
RETURNS TABLE (number bigint, token text, after_token text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT m.number, m.token, m.after_token FROM ddlrepl.mark m WHERE m.channel = of_channel
$$;
