-- Which table a dropped index was of: nothing in the catalog tells it after the statement, so its beginning looks.

-- The indexes of these tables, each with its table, by their ids.
CREATE OR REPLACE FUNCTION ddlrepl.tables_of_indexes(tables oid[]) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT jsonb_object_agg(i.indexrelid::text, i.indrelid::int8) FROM pg_index i WHERE i.indrelid = ANY (tables));
END
$$;

-- The table of an index that a statement has dropped, as the beginning of the statement has seen it; none: it was not seen.
CREATE OR REPLACE FUNCTION ddlrepl.table_of_dropped(state jsonb, index oid) RETURNS oid[]
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found text := state -> 'indexes' ->> index::text;
BEGIN
    RETURN CASE WHEN found IS NULL THEN '{}' ELSE ARRAY[found::oid] END;
END
$$;
