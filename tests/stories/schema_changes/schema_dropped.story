# DROP SCHEMA … CASCADE drops tables, DROP TYPE … CASCADE columns that no statement names.
-- old --
create schema s;
create table s.a (id int primary key);
create type mood as enum ('ok');
create table t (id int primary key, m mood);
-- do --
drop schema s cascade;
drop type mood cascade;
-- spots --
drop_table s.a
drop_column m
forget_type public.mood
-- postgres --
ALTER TABLE "public"."t" DROP COLUMN "m"
