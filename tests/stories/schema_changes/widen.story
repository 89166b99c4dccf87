# Wider types hold every old value: ALTER, no reload.
-- req --       HVR-D-40 HVR-O-14
-- old --
create table t (id int primary key, s varchar(5), n numeric(6,2), ts timestamp(0), v varchar(9), a int[]);
insert into t values (1, 'abc', 1.25, '2026-01-02 03:04:05', 'x', '{1,2}');
-- do --
alter table t alter id type bigint;
alter table t alter s type varchar(12), alter n type numeric(12,2), alter ts type timestamp(6), alter v type text, alter a type bigint[];
-- spots --
change_type id integer -> bigint (widen)
change_type s character varying(5) -> character varying(12) (widen)
change_type n numeric(6,2) -> numeric(12,2) (widen)
change_type ts timestamp(0) without time zone -> timestamp(6) without time zone (widen)
change_type v character varying(9) -> text (widen)
change_type a integer[] -> bigint[] (widen)
-- postgres --
ALTER TABLE "public"."t" ALTER COLUMN "id" TYPE bigint
ALTER TABLE "public"."t" ALTER COLUMN "s" TYPE character varying(12)
ALTER TABLE "public"."t" ALTER COLUMN "n" TYPE numeric(12,2)
ALTER TABLE "public"."t" ALTER COLUMN "ts" TYPE timestamp(6) without time zone
ALTER TABLE "public"."t" ALTER COLUMN "v" TYPE text
ALTER TABLE "public"."t" ALTER COLUMN "a" TYPE bigint[]
