# A conversion by USING: every partition is refreshed.
-- old --
create table m (day date not null, n int) partition by range (day);
create table m1 partition of m for values from ('2026-01-01') to ('2026-02-01');
insert into m values ('2026-01-05', 1);
-- do --
alter table m alter n type text using n + 1;
-- spots --
change_type n integer -> text (convert)
change_type n integer -> text (convert)
-- postgres --
ALTER TABLE "public"."m" ALTER COLUMN "n" TYPE text USING "n"::text
refresh
