-- What the texts of statements tell: as evidence, and for people. Whoever runs a statement writes its text.

-- The exact text when the DDL ran inside of a function or DO block: the frame of the context behind ours begins with it.
-- Where it ends can be made to look otherwise by what stands in it. So it is known where only one quote can be its
-- end, or where nothing before the first one could hide another and the frames behind it are calls alone. Outside of
-- functions it is the query string when that can hold only one statement. Else unknown.
CREATE OR REPLACE FUNCTION ddlrepl.statement_of(context text, query text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    behind int := strpos(context, E'\n');
    caller text;
BEGIN
    IF behind = 0 THEN
        RETURN CASE WHEN strpos(rtrim(query, E'; \n\r\t'), ';') = 0 THEN query END;
    END IF;
    caller := substr(context, behind + 1);
    RETURN CASE
        WHEN left(caller, 15) = 'SQL statement "' AND regexp_count(substr(caller, 16), E'"(\n|$)') = 1 THEN
            regexp_replace(substr(caller, 16), E'"(\n.*)?$', '')
        WHEN caller ~ (E'^SQL statement "([^''"$/-]|-(?!-)|/(?![*])|''[^''"\\\\]*'')*"'
            '(\n(PL/pgSQL function [^"\n]* line [0-9]+ at [A-Za-z ]+'
            '|SQL statement "[ \t\n\r]*([Ss][Ee][Ll][Ee][Cc][Tt]|[Cc][Aa][Ll][Ll])[ \t\n\r][^"]*"))*$') THEN
            substring(substr(caller, 16) from '^[^"]*')
        END;
END
$$;

-- Passwords that stand in the same query string stay out of the log: as '***', or with the whole text where they are
-- not plain strings. No backslash here and below but in E'', where none is
-- before a quote: the user's standard_conforming_strings or backslash_quote may be off, the client's encoding any.
CREATE OR REPLACE FUNCTION ddlrepl.without_passwords(query text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    plain text := lower(query COLLATE "C");
    masked text;
BEGIN
    -- Next to every statement: none of the words that the patterns begin with.
    IF strpos(plain, 'pass') = 0 AND strpos(plain, 'pwd') = 0 AND strpos(plain, 'secret') = 0
        AND strpos(plain, 'token') = 0 AND strpos(plain, 'access_key') = 0 AND strpos(plain, '://') = 0 THEN
        RETURN (query);
    END IF;
    masked := regexp_replace(query,
        E'(password|passwd|pwd|secret|token|access_key)([[:space:]]*=?[[:space:]]*)(''([^'']|'''')*''|E''([^''\\\\]|\\\\.|'''')*'')',
        E'\\1\\2''***''', 'gi');
    RETURN CASE WHEN masked !~* E'(password|passwd|pwd)[[:space:]]*=?[[:space:]]*([$]|U&|E''|=[[:space:]]*[^''[:space:]])|://[^/@[:space:]]*:[^/@[:space:]]*@'
        THEN masked END;
END
$$;

-- Tables of channels that a statement may change, as far as its text names them, or their key, or the type or schema
-- that it is about: by a word of it, in lower case, too, or by something between two quotes.
CREATE OR REPLACE FUNCTION ddlrepl.named(tag text, said text) RETURNS SETOF oid
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    no_word text := E'[\\x01-#%-/:-@[-^`{-\\x7f]+';
    names name[] := regexp_split_to_array(said, no_word) || regexp_split_to_array(lower(said COLLATE "C"), no_word);
BEGIN
    IF strpos(said, '"') > 0 THEN
        names := names || ARRAY(
            SELECT replace(q, E'\x01', '"')::name FROM regexp_split_to_table(replace(said, '""', E'\x01'), '"') q);
    END IF;
    RETURN QUERY
    SELECT DISTINCT a.id
    FROM (
        SELECT 'pg_class'::regclass::oid, c.oid FROM pg_class c
        WHERE c.relname = ANY (names) AND c.relkind IN ('r', 'p', 'i', 'I') AND c.relpersistence <> 't'
        UNION ALL
        SELECT 'pg_type'::regclass, t.oid FROM pg_type t WHERE t.typname = ANY (names) AND tag ~ ' (TYPE|DOMAIN)$'
        UNION ALL
        SELECT 'pg_namespace'::regclass, n.oid FROM pg_namespace n WHERE n.nspname = ANY (names) AND tag ~ ' SCHEMA$'
    ) object(class, id)
    CROSS JOIN LATERAL ddlrepl.affected(object.class, object.id) a(id)
    WHERE object.id >= 16384
      AND EXISTS (SELECT FROM ddlrepl.member m WHERE m.table_id = a.id AND m.state <> 'bystander');
END
$$;
