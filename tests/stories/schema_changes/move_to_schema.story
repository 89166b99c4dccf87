# Another schema, created where it is missing.
-- old --
create schema "Odd one";
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
alter table orders set schema "Odd one";
-- spots --
rename_table public.orders -> Odd one.orders
-- postgres --
DO $ddlrepl$ BEGIN IF to_regnamespace('"Odd one"') IS NULL THEN CREATE SCHEMA "Odd one"; END IF; END $ddlrepl$
DO $ddlrepl$ DECLARE part record; BEGIN FOR part IN …'"public"."orders"'::regclass…'Odd one'…RENAME TO %I'…END $ddlrepl$
ALTER TABLE "public"."orders" SET SCHEMA "Odd one"
