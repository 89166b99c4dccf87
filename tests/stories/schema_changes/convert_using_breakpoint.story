# on_enroll_break FAIL_INTEG_JOB: a person decides.
-- policy --
on_enroll_break: FAIL_INTEG_JOB
-- old --
create table t (id int primary key, n text);
insert into t values (1, '42');
-- do --
alter table t alter n type int using n::int * 2;
-- same --      nothing
-- spots --
change_type n text -> integer (convert)
-- postgres --
control
ALTER TABLE "public"."t" ALTER COLUMN "n" TYPE integer USING "n"::text::integer
