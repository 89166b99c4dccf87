# Two tables share a type: it is altered once.
-- old --
create type status as enum ('a');
create table t (id int primary key, s status);
create table u (id int primary key, s status);
-- do --
alter type status rename value 'a' to 'b';
create table v (id int primary key, s status);
