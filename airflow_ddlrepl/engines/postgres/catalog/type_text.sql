CASE WHEN COALESCE({element}.typtype, {type}.typtype) <> 'b' AND {type}.oid >= 16384
    THEN quote_ident({schema}.nspname) || '.' || quote_ident(COALESCE(/*type_name({element})*/, /*type_name({type})*/))
        || CASE WHEN {element}.oid IS NULL THEN '' ELSE '[]' END
    ELSE format_type({type}.oid, {typmod}) END
