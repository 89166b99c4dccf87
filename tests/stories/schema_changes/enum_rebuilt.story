# The usual way to drop a label: a new type, columns converted, the old one dropped.
-- old --
create type status as enum ('a', 'b', 'c');
create table t (id int primary key, s status not null default 'a');
insert into t values (1, 'b');
-- do --
alter type status rename to status_old;
create type status as enum ('a', 'b');
alter table t alter s drop default, alter s type status using s::text::status, alter s set default 'b';
drop type status_old;
