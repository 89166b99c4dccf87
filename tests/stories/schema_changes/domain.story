# A domain's checks, default and NOT NULL follow.
-- old --
create domain positive as int check (value > 0);
create table t (id int primary key, n positive);
insert into t values (1, 5);
-- do --
alter domain positive add constraint small check (value < 100);
alter domain positive drop constraint positive_check;
alter domain positive set default 1;
alter domain positive set not null;
-- spots --
change_type_definition public.positive: add constraint small CHECK ((VALUE < 100))
change_type_definition public.positive: drop constraint positive_check
change_type_definition public.positive: set default 1
change_type_definition public.positive: set not null True
-- postgres --
DO $ddlrepl$ BEGIN ALTER DOMAIN "public"."positive" ADD CONSTRAINT "small" CHECK ((VALUE < 100)); EXCEPTION WHEN feature_not_supported OR check_violation THEN ALTER DOMAIN "public"."positive" ADD CONSTRAINT "small" CHECK ((VALUE < 100)) NOT VALID; END $ddlrepl$
DO $ddlrepl$ BEGIN ALTER DOMAIN "public"."positive" DROP CONSTRAINT "positive_check"; EXCEPTION WHEN undefined_object THEN NULL; END $ddlrepl$
ALTER DOMAIN "public"."positive" SET DEFAULT 1
DO $ddlrepl$ BEGIN ALTER DOMAIN "public"."positive" SET NOT NULL; EXCEPTION WHEN feature_not_supported OR not_null_violation THEN NULL; END $ddlrepl$
