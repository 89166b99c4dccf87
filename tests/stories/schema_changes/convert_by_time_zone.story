# timestamp to timestamptz depends on the session's time zone: the target uses the same.
-- old --
create table t (id int primary key, at timestamp);
insert into t values (1, '2026-07-01 12:00');
set timezone = 'America/New_York';
-- do --
alter table t alter at type timestamptz;
-- spots --
change_type at timestamp without time zone -> timestamp with time zone (convert)
-- postgres --
SET LOCAL TimeZone = 'America/New_York'
ALTER TABLE "public"."t" ALTER COLUMN "at" TYPE timestamp with time zone
SET LOCAL TimeZone = 'UTC'
