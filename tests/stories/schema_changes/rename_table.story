# The target table follows with its rows.
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
alter table orders rename to purchases;
-- spots --
rename_table public.orders -> public.purchases
-- postgres --
ALTER TABLE "public"."orders" RENAME TO "purchases"
