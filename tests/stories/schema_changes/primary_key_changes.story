# The replication key follows; no refresh.
-- req --       HVR-D-68
-- old --
create table t (id int primary key, d date not null);
insert into t values (1, '2026-01-01');
-- do --
alter table t drop constraint t_pkey, add primary key (id, d);
alter table t drop constraint t_pkey;
