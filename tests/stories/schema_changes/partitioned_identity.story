# Identity comes to a partition by its partitioned table.
-- old --
create table m (id int generated always as identity, day date not null) partition by range (day);
create table m1 partition of m for values from ('2026-01-01') to ('2026-02-01');
-- do --
create table m2 partition of m for values from ('2026-02-01') to ('2026-03-01');
create table m3 (id int not null, day date not null);
alter table m attach partition m3 for values from ('2026-03-01') to ('2026-04-01');
alter table m detach partition m2;
-- spots --
create_table public.m2
create_table public.m3
change_identity id none -> by default
attach_partition to public.m FOR VALUES FROM ('2026-03-01') TO ('2026-04-01')
detach_partition from public.m
change_identity id by default -> none
-- postgres --
CREATE TABLE "public"."m2" ("id" integer NOT NULL, "day" date NOT NULL)
ALTER TABLE "public"."m" ATTACH PARTITION "public"."m2" FOR VALUES FROM ('2026-02-01') TO ('2026-03-01')
CREATE TABLE "public"."m3" ("id" integer NOT NULL, "day" date NOT NULL)
ALTER TABLE "public"."m" ATTACH PARTITION "public"."m3" FOR VALUES FROM ('2026-03-01') TO ('2026-04-01')
ALTER TABLE "public"."m" DETACH PARTITION "public"."m2"
ALTER TABLE "public"."m2" ALTER COLUMN "id" DROP IDENTITY IF EXISTS
