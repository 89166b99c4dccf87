# Partitions are made, attached and detached at the target as at the source; no row is reloaded.
-- old --
create table m (day date not null, n int, primary key (day)) partition by range (day);
create table m1 partition of m for values from ('2026-01-01') to ('2026-02-01');
insert into m values ('2026-01-05', 1);
-- do --
create table m2 partition of m for values from ('2026-02-01') to ('2026-03-01');
create table m3 (day date not null, n int, primary key (day));
insert into m3 values ('2026-03-03', 3);
alter table m attach partition m3 for values from ('2026-03-01') to ('2026-04-01');
alter table m detach partition m1;
drop table m3;
-- spots --
create_table public.m2
create_table public.m3
attach_partition to public.m FOR VALUES FROM ('2026-03-01') TO ('2026-04-01')
detach_partition from public.m
drop_table public.m3
-- postgres --
CREATE TABLE "public"."m2" ("day" date NOT NULL, "n" integer)
ALTER TABLE "public"."m2" ADD PRIMARY KEY ("day")
ALTER TABLE "public"."m" ATTACH PARTITION "public"."m2" FOR VALUES FROM ('2026-02-01') TO ('2026-03-01')
CREATE TABLE "public"."m3" ("day" date NOT NULL, "n" integer)
ALTER TABLE "public"."m3" ADD PRIMARY KEY ("day")
ALTER TABLE "public"."m" ATTACH PARTITION "public"."m3" FOR VALUES FROM ('2026-03-01') TO ('2026-04-01')
ALTER TABLE "public"."m" DETACH PARTITION "public"."m1"
ALTER TABLE "public"."m" DETACH PARTITION "public"."m3"
