# Constants and plain functions follow; sequences and the user's functions stay at the source.
-- old --
create function mine() returns int language sql as 'select 1';
create sequence s;
create table t (id int primary key, a text, at timestamptz, n int, m int);
-- do --
alter table t alter a set default 'it''s', alter at set default now();
alter table t alter n set default nextval('s'), alter m set default mine();
alter table t alter a drop default;
-- spots --
change_default a none -> 'it''s'::text
change_default at none -> now()
change_default a 'it''s'::text -> none
-- postgres --
ALTER TABLE "public"."t" ALTER COLUMN "a" SET DEFAULT 'it''s'::text
ALTER TABLE "public"."t" ALTER COLUMN "at" SET DEFAULT now()
ALTER TABLE "public"."t" ALTER COLUMN "a" DROP DEFAULT
