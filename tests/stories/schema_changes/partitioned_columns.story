# The partitioned table's ALTER reaches its partitions; theirs is not run twice.
-- old --
create table m (day date not null, n int, s varchar(5)) partition by range (day);
create table m1 partition of m for values from ('2026-01-01') to ('2026-02-01');
insert into m values ('2026-01-05', 1, 'x');
-- do --
alter table m add column c int not null default 7;
alter table m add column at timestamptz default now();
alter table m rename n to amount;
alter table m alter s type varchar(9), alter s set not null;
alter table m drop column c;
alter table m add primary key (day);
