# A plain table can't become a partitioned one: the old one makes way.
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
drop table orders;
create table orders (id int not null, day date not null) partition by range (day);
-- spots --
drop_table public.orders
create_table public.orders
-- postgres --
ALTER TABLE "public"."orders" RENAME TO "orders_kept_…"
CREATE TABLE "public"."orders" ("id" integer NOT NULL, "day" date NOT NULL) PARTITION BY RANGE (day)
