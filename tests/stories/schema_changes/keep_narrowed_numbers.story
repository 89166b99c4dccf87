# keep_existing_structure: the source rounded, the target stays wide: its rows come anew.
-- policy --
keep_existing_structure: true
-- old --
create table t (id int primary key, n numeric(12,4));
insert into t values (1, 1.2345);
-- do --
alter table t alter n type numeric(10,2);
-- same --      nothing
-- spots --
change_type n numeric(12,4) -> numeric(10,2) (narrow)
-- postgres --
refresh
-- holds --
select n from t => (1.2300)
