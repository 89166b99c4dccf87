# A new column of a domain with a default: rows that stand get it.
-- old --
create domain seven as int default 7 check (value > 0);
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
alter table orders add column n seven;
-- spots --
create_type domain public.seven
add_column n public.seven
-- postgres --
DO $ddlrepl$ DECLARE there regtype := to_regtype('"public"."seven"'); made record;…
DO $ddlrepl$ BEGIN CREATE DOMAIN "public"."seven" AS integer DEFAULT 7 CONSTRAINT "seven_check" CHECK ((VALUE > 0)); EXCEPTION WHEN duplicate_object THEN NULL; END $ddlrepl$
refresh
