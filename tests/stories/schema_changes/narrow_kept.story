# keep_existing_structure: the target stays wide, wider is still followed.
-- req --       HVR-P-95 HVR-P-96
-- policy --
keep_existing_structure: true
-- old --
create table t (id int primary key, s varchar(12));
insert into t values (1, 'abc');
-- do --
alter table t alter s type varchar(5);
alter table t alter s type varchar(20);
alter table t add column n int;
-- spots --
change_type s character varying(12) -> character varying(5) (narrow)
change_type s character varying(5) -> character varying(20) (widen)
add_column n integer
-- postgres --
refresh
ALTER TABLE "public"."t" ALTER COLUMN "s" TYPE character varying(20)
ALTER TABLE "public"."t" ADD COLUMN "n" integer
-- holds --
select format_type(atttypid, atttypmod) from pg_attribute where attrelid = 't'::regclass and attname = 's' => ("character varying(20)")
