# REPLICA IDENTITY is the source's business.
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
alter table orders replica identity full;
-- spots --
change_replica_identity default -> full
