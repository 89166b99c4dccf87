-- SET UNLOGGED: the server refuses it for a table in a publication, after it has found that the user owns the table. So a
-- table leaves ours before that, in the user's transaction, where the statement itself says so of it and its
-- user owns it; the end of the statement brings it back where it stayed as it was. Whatever goes wrong in here, the
-- server then says what it would have said.

-- The tokens of a text: words in lower case, names with their quotes, signs; of a constant the quote alone. NULL where it
-- is long, or does not end as it should.
CREATE OR REPLACE FUNCTION ddlrepl.tokens(said text) RETURNS text[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found text[] := '{}';
    rest text := said;
    piece text;
    closing int;
    depth int;
    -- In a plain constant a backslash may hide a quote.
    with_backslashes boolean := current_setting('standard_conforming_strings') = 'off';
BEGIN
    IF length(said) > 100000 THEN
        RETURN NULL;
    END IF;
    LOOP
        rest := regexp_replace(rest, E'^([ \\t\\n\\r\\f\\v]+|--[^\\n\\r]*)+', '');
        EXIT WHEN rest = '';
        IF left(rest, 2) = '/*' THEN
            depth := 0;
            LOOP
                piece := substring(rest from E'^.*?(/\\*|\\*/)');
                IF piece IS NULL THEN
                    RETURN NULL;
                END IF;
                depth := depth + CASE WHEN right(piece, 2) = '/*' THEN 1 ELSE -1 END;
                rest := substr(rest, strpos(rest, piece) + length(piece));
                EXIT WHEN depth = 0;
            END LOOP;
            CONTINUE;
        END IF;
        piece := substring(left(rest, 300) from E'^(([A-Za-z_]|[^\\x01-\\x7f])([A-Za-z0-9_$]|[^\\x01-\\x7f])*)');
        IF rest ~ E'^\\$(([A-Za-z_]|[^\\x01-\\x7f])([A-Za-z0-9_]|[^\\x01-\\x7f])*)?\\$' THEN
            piece := substring(rest from E'^\\$[^$]*\\$');
            closing := strpos(substr(rest, length(piece) + 1), piece);
            IF closing = 0 THEN
                RETURN NULL;
            END IF;
            rest := substr(rest, closing + 2 * length(piece));
            found := found || ''''::text;
        ELSIF left(rest, 1) = '''' OR lower(piece) IN ('e', 'b', 'x', 'n', 'u') AND rest ~ E'^([EeBbXxNn]|[Uu]&)''' THEN
            piece := CASE WHEN lower(piece) = 'e' OR with_backslashes AND lower(piece) IS DISTINCT FROM 'u'
                THEN substring(rest from E'^[^'']*''(?:[^''\\\\]|\\\\.|'''')*''')
                ELSE substring(rest from E'^[^'']*''(?:[^'']|'''')*''') END;
            IF piece IS NULL THEN
                RETURN NULL;
            END IF;
            rest := substr(rest, strpos(rest, '''') + length(piece) - strpos(piece, '''') + 1);
            found := found || ''''::text;
        ELSIF left(rest, 1) = '"' THEN
            piece := substring(rest from E'^"(?:[^"]|"")*"');
            IF piece IS NULL THEN
                RETURN NULL;
            END IF;
            rest := substr(rest, length(piece) + 1);
            found := found || piece;
        ELSE
            piece := coalesce(piece, left(rest, 1));
            rest := substr(rest, length(piece) + 1);
            found := found || lower(piece);
        END IF;
    END LOOP;
    RETURN found;
END
$$;

-- The tables that ALTER TABLE statements in these tokens make unlogged, as a schema or NULL, and a name.
CREATE OR REPLACE FUNCTION ddlrepl.made_unlogged(words text[]) RETURNS TABLE (of_schema text, of_table text)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    at int := 1;
    depth int;
    action int;
BEGIN
    WHILE at <= cardinality(words) LOOP
        of_table := NULL;
        IF words[at] = 'alter' AND words[at + 1] = 'table' THEN
            at := at + 2;
            at := at + CASE WHEN words[at] = 'if' AND words[at + 1] = 'exists' THEN 2 ELSE 0 END;
            at := at + CASE WHEN words[at] = 'only' THEN 1 ELSE 0 END;
            of_schema := CASE WHEN words[at + 1] = '.' THEN ddlrepl.bare(words[at]) END;
            at := at + CASE WHEN of_schema IS NULL THEN 0 ELSE 2 END;
            of_table := ddlrepl.bare(words[at]);
            at := at + CASE WHEN words[at + 1] = '*' THEN 2 ELSE 1 END;
        END IF;
        depth := 0;
        action := at;   -- where an action begins
        WHILE at <= cardinality(words) AND (words[at] <> ';' OR depth > 0) LOOP
            IF of_table IS NOT NULL AND at = action AND words[at] = 'set' AND words[at + 1] = 'unlogged' THEN
                RETURN NEXT;
            END IF;
            depth := depth + CASE WHEN words[at] IN ('(', '[') THEN 1 WHEN words[at] IN (')', ']') THEN -1 ELSE 0 END;
            at := at + 1;
            IF words[at - 1] = ',' AND depth = 0 THEN
                action := at;
            END IF;
        END LOOP;
        at := at + 1;
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION ddlrepl.bare(word text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN left(word, 1) = '"' THEN replace(substr(word, 2, length(word) - 2), '""', '"') ELSE word END
$$;

-- Returns what was taken out. caller: who runs the statement, see ddlrepl.on_caller.
DROP FUNCTION IF EXISTS ddlrepl.let_be_unlogged(text);
CREATE OR REPLACE FUNCTION ddlrepl.let_be_unlogged(said text, caller jsonb) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    listed record;
    taken jsonb := '[]';
BEGIN
    FOR listed IN
        SELECT DISTINCT r.prrelid, ch.publication, format('%I.%I', n.nspname, c.relname) AS spelled
        FROM ddlrepl.made_unlogged(ddlrepl.tokens(said)) t
        CROSS JOIN LATERAL (
            SELECT c.* FROM jsonb_array_elements_text(CASE
                WHEN t.of_schema IS NULL THEN caller -> 'schemas' ELSE jsonb_build_array(t.of_schema) END)
                WITH ORDINALITY s(name, place)
            JOIN pg_namespace n ON n.nspname = s.name
            JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t.of_table
            ORDER BY s.place LIMIT 1) c
        JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_publication_rel r ON r.prrelid = c.oid
        JOIN pg_publication p ON p.oid = r.prpubid
        JOIN ddlrepl.channel ch ON ch.publication = p.pubname
        JOIN ddlrepl.member m ON m.channel = ch.name AND m.table_id = c.oid AND m.state = 'published'
        WHERE c.relkind = 'r' AND c.relpersistence = 'p'
          AND pg_has_role((caller ->> 'role')::name, c.relowner, 'USAGE')   -- what the server asks for
        ORDER BY 1, 2
    LOOP
        PERFORM ddlrepl.run_own(format('ALTER PUBLICATION %I DROP TABLE ONLY %s', listed.publication, listed.spelled));
        taken := taken || to_jsonb(listed.prrelid::int8);
    END LOOP;
    RETURN taken;
EXCEPTION WHEN OTHERS THEN
    RETURN '[]';
END
$$;

-- What let_be_unlogged took out and the statement left as it was is in the publication again before anybody sees it gone.
DROP FUNCTION IF EXISTS ddlrepl.bring_back();
CREATE OR REPLACE FUNCTION ddlrepl.bring_back(taken jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    missing record;
BEGIN
    FOR missing IN
        SELECT ch.publication, format('%I.%I', n.nspname, c.relname) AS spelled
        FROM jsonb_array_elements_text(taken) t(id)
        JOIN pg_class c ON c.oid = t.id::oid AND c.relpersistence = 'p'
        JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN ddlrepl.member m ON m.table_id = c.oid AND m.state = 'published'
        JOIN ddlrepl.channel ch ON ch.name = m.channel
        WHERE NOT EXISTS (
            SELECT FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid
            WHERE r.prrelid = c.oid AND p.pubname = ch.publication)
    LOOP
        PERFORM ddlrepl.run_own(format('ALTER PUBLICATION %I ADD TABLE ONLY %s', missing.publication, missing.spelled));
    END LOOP;
END
$$;
