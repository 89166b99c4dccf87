# The partitioned table's ALTER reaches its partitions; theirs is not run twice.
-- old --
create table m (day date not null, n int, s varchar(5)) partition by range (day);
create table m1 partition of m for values from ('2026-01-01') to ('2026-02-01');
insert into m values ('2026-01-05', 1, 'x');
-- do --
alter table m add column c int not null default 7;
alter table m add column at timestamptz default now();
alter table m rename n to amount;
alter table m alter s type varchar(9), alter s set not null;
alter table m drop column c;
alter table m add primary key (day);
-- spots --
add_column c integer
add_column c integer
add_column at timestamp with time zone
add_column at timestamp with time zone
rename_column n -> amount
rename_column n -> amount
change_type s character varying(5) -> character varying(9) (widen)
change_nullability s not null
change_type s character varying(5) -> character varying(9) (widen)
change_nullability s not null
drop_column c
drop_column c
change_key primary key (day)
change_key primary key (day)
change_replica_identity full -> default
-- postgres --
ALTER TABLE "public"."m" ADD COLUMN "c" integer NOT NULL DEFAULT 7
ALTER TABLE "public"."m" ADD COLUMN "at" timestamp with time zone DEFAULT now()
UPDATE ONLY "public"."m1" SET "at" = '…'::timestamp with time zone
ALTER TABLE "public"."m" RENAME COLUMN "n" TO "amount"
ALTER TABLE "public"."m" ALTER COLUMN "s" TYPE character varying(9)
ALTER TABLE "public"."m" ALTER COLUMN "s" SET NOT NULL
ALTER TABLE "public"."m" DROP COLUMN "c"
ALTER TABLE "public"."m" ADD PRIMARY KEY ("day")
