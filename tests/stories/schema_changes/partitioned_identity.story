# Identity comes to a partition by its partitioned table.
-- old --
create table m (id int generated always as identity, day date not null) partition by range (day);
create table m1 partition of m for values from ('2026-01-01') to ('2026-02-01');
-- do --
create table m2 partition of m for values from ('2026-02-01') to ('2026-03-01');
create table m3 (id int not null, day date not null);
alter table m attach partition m3 for values from ('2026-03-01') to ('2026-04-01');
alter table m detach partition m2;
