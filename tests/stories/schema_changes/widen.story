# Wider types hold every old value: ALTER, no reload.
-- req --       HVR-D-40 HVR-O-14 G-14
-- old --
create table t (id int primary key, s varchar(5), n numeric(6,2), ts timestamp(0), v varchar(9), a int[]);
insert into t values (1, 'abc', 1.25, '2026-01-02 03:04:05', 'x', '{1,2}');
-- do --
alter table t alter id type bigint;
alter table t alter s type varchar(12), alter n type numeric(12,2), alter ts type timestamp(6), alter v type text, alter a type bigint[];
