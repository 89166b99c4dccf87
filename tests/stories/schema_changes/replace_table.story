# Build anew, drop, rename into place: the kept old table makes way.
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
create table orders_new (id int primary key, note varchar(9));
drop table orders;
alter table orders_new rename to orders;
-- spots --
create_table public.orders_new
drop_table public.orders
rename_table public.orders_new -> public.orders
-- postgres --
CREATE TABLE "public"."orders_new" ("id" integer NOT NULL, "note" character varying(9))
ALTER TABLE "public"."orders_new" ADD PRIMARY KEY ("id")
ALTER TABLE "public"."orders" RENAME TO "orders_kept_…"
ALTER TABLE "public"."orders_new" RENAME TO "orders"
