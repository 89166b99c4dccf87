# A type of an extension that the target lacks becomes text.
-- old --
create schema ext;
create table t (id int primary key);
insert into t values (1);
-- do --
create extension citext schema ext;
alter table t add column c ext.citext default 'x';
-- spots --
add_column c text
-- postgres --
warn
ALTER TABLE "public"."t" ADD COLUMN "c" text DEFAULT 'x'::text
ALTER TABLE "public"."t" ALTER COLUMN "c" DROP DEFAULT
