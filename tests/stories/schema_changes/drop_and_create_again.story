# Dropped and created again: the target table is used again, emptied and altered.
-- req --       HVR-P-92
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
drop table orders;
create table orders (id bigint primary key, remark text not null, note int);
-- spots --
drop_table public.orders
create_table public.orders
-- postgres --
TRUNCATE TABLE "public"."orders"
ALTER TABLE "public"."orders" ALTER COLUMN "id" TYPE bigint USING NULL::bigint
ALTER TABLE "public"."orders" ALTER COLUMN "note" TYPE integer USING NULL::integer
ALTER TABLE "public"."orders" ADD COLUMN "remark" text NOT NULL
