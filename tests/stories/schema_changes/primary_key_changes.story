# The replication key follows; no refresh.
-- req --       HVR-D-68
-- old --
create table t (id int primary key, d date not null);
insert into t values (1, '2026-01-01');
-- do --
alter table t drop constraint t_pkey, add primary key (id, d);
alter table t drop constraint t_pkey;
-- spots --
change_key dropped
change_key primary key (id, d)
change_key dropped
change_replica_identity default -> full
-- postgres --
DO $ddlrepl$ DECLARE key_name text; BEGIN SELECT conname INTO key_name…EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', '"public"."t"', key_name); END IF; END $ddlrepl$
ALTER TABLE "public"."t" ADD PRIMARY KEY ("id", "d")
DO $ddlrepl$ DECLARE key_name text; BEGIN SELECT conname INTO key_name…EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', '"public"."t"', key_name); END IF; END $ddlrepl$
