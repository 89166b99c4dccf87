# Dropping a key column drops the key; the next one is made.
-- old --
create table t (a int, b int, c text, primary key (a, b));
insert into t values (1, 2, 'x');
-- do --
alter table t drop column b;
alter table t add primary key (a);
-- spots --
change_key dropped
drop_column b
change_replica_identity default -> full
change_key primary key (a)
change_replica_identity full -> default
-- postgres --
DO $ddlrepl$ DECLARE key_name text; BEGIN SELECT conname INTO key_name…EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', '"public"."t"', key_name); END IF; END $ddlrepl$
ALTER TABLE "public"."t" DROP COLUMN "b"
ALTER TABLE "public"."t" ADD PRIMARY KEY ("a")
