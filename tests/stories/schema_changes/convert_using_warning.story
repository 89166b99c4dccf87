# on_enroll_break WARNING: ALTER as far as it goes, no refresh.
-- req --       HVR-P-39
-- policy --
on_enroll_break: WARNING
-- old --
create table t (id int primary key, n text);
insert into t values (1, '42');
-- do --
alter table t alter n type int using n::int + 1;
-- same --      nothing
-- spots --
change_type n text -> integer (convert)
-- postgres --
warn
ALTER TABLE "public"."t" ALTER COLUMN "n" TYPE integer USING "n"::text::integer
-- holds --
select n from t => (42)
