# A user-defined range and its multirange.
-- old --
create table t (id int primary key);
-- do --
create type span as range (subtype = float8);
alter table t add column s span, add column m span_multirange;
