# Without a primary key a unique index of mandatory columns is the key; a secondary index changes nothing.
-- req --       HVR-D-67 HVR-D-69
-- old --
create table t (a int not null, b int not null, c text);
insert into t values (1, 2, 'x');
-- do --
create unique index on t (a);
create index on t (c);
create unique index on t (c) where c is not null;
drop index t_a_idx;
-- spots --
change_key unique (a)
change_key dropped
-- postgres --
CREATE UNIQUE INDEX ON "public"."t" ("a")
DO $ddlrepl$ DECLARE found record; BEGIN FOR found IN …
-- holds --
select count(*) from pg_indexes where tablename = 't' => (0)
