-- A database in SQL_ASCII takes any bytes, also in names and in the texts of statements. What is no UTF-8 can't be told to
-- anybody as it is: a table with such a name, default or label is left out, and whatever else has such bytes is escaped.

CREATE OR REPLACE FUNCTION ddlrepl.is_utf8(said text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF getdatabaseencoding() <> 'SQL_ASCII' THEN
        RETURN true;
    END IF;
    BEGIN
        PERFORM convert_to(said, 'UTF8');
    EXCEPTION WHEN character_not_in_repertoire THEN
        RETURN false;
    END;
    RETURN true;
END
$$;

-- The text, with each byte that is no ASCII as a backslash, x and two digits where not all of it is UTF-8. Python's
-- sessions read names in the same way (catalog/raw_texts.py). slash: as it has to be written where the text stands.
CREATE OR REPLACE FUNCTION ddlrepl.as_utf8(said text, slash text DEFAULT E'\\') RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF ddlrepl.is_utf8(said) THEN
        RETURN said;
    END IF;
    RETURN (
        SELECT string_agg(CASE WHEN b.byte < 128 THEN chr(b.byte) ELSE slash || 'x' || to_hex(b.byte) END, '' ORDER BY b.place)
        FROM convert_to(said, 'SQL_ASCII') raw(bytes)
        CROSS JOIN generate_series(0, length(raw.bytes) - 1) place
        CROSS JOIN LATERAL (SELECT get_byte(raw.bytes, place), place) b(byte, place));
END
$$;

CREATE OR REPLACE FUNCTION ddlrepl.as_utf8(said jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN CASE WHEN getdatabaseencoding() <> 'SQL_ASCII' THEN said ELSE ddlrepl.as_utf8(said::text, E'\\\\')::jsonb END;
END
$$;
