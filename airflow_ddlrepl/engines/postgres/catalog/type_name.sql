/* A type's name. The row type of a table or a view is called by its oid: a target has it as a type of its own, which a
   table of that name there could not stand beside. */
CASE WHEN {type}.typtype = 'c' AND {type}.oid >= 16384
        AND EXISTS (SELECT FROM pg_class row_of WHERE row_of.oid = {type}.typrelid AND row_of.relkind <> 'c')
    THEN 'row_type_' || {type}.oid ELSE {type}.typname::text END
