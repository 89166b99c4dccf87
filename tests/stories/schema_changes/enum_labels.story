# A new label is committed before anything else; a renamed one shows in the rows that stand.
-- old --
create type status as enum ('open', 'closed');
create table t (id int primary key, s status default 'open', h status[]);
insert into t values (1, 'open', '{closed}');
-- do --
alter type status add value 'new' before 'open';
alter type status add value 'late';
alter type status rename value 'closed' to 'done';
-- spots --
change_type_definition public.status: add label new before open
change_type_definition public.status: add label late after closed
change_type_definition public.status: rename label closed done
-- postgres --
(own) ALTER TYPE "public"."status" ADD VALUE IF NOT EXISTS 'new' BEFORE 'open'
(own) ALTER TYPE "public"."status" ADD VALUE IF NOT EXISTS 'late' AFTER 'closed'
ALTER TYPE "public"."status" RENAME VALUE 'closed' TO 'done'
