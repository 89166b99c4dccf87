# now() gives old rows the moment of the ALTER; the catalog knows it, so it is carried as a constant.
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
alter table orders add column seen timestamptz not null default now();
-- spots --
add_column seen timestamp with time zone
-- postgres --
ALTER TABLE "public"."orders" ADD COLUMN "seen" timestamp with time zone DEFAULT '…'::timestamp with time zone NOT NULL
ALTER TABLE "public"."orders" ALTER COLUMN "seen" SET DEFAULT now()
