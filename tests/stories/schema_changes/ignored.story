# Indexes, foreign keys, comments, storage: nothing for the target.
-- req --       HVR-D-70
-- old --
create table u (id int primary key);
insert into u values (1), (2);
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
create index on orders (note);
alter table orders add foreign key (id) references u;
comment on table orders is 'x';
alter table orders alter note set storage external;
alter table orders set (fillfactor = 70);
-- holds --
select count(*) from pg_constraint where contype = 'f' => (0)
