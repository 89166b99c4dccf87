# Dropped and created again: the target table is used again, emptied and altered.
-- req --       HVR-P-92
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
drop table orders;
create table orders (id bigint primary key, remark text not null, note int);
