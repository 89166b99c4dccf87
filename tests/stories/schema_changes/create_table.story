# A new table stands at the target at once; its rows come by the log.
-- do --
create table shop (id int primary key, name text not null default 'x', price numeric(8,2));
