# Narrower without USING: the source's own cast, repeated.
-- old --
create table t (id bigint primary key, s varchar(12), n numeric(12,4));
insert into t values (1, 'abc', 1.2345);
-- do --
alter table t alter s type varchar(5), alter n type numeric(12,2), alter id type int;
