# A type under another name and in another schema; columns keep their values.
-- old --
create schema shop;
create type "Mood" as enum ('ok');
create domain moods as "Mood"[];
create table t (id int primary key, m "Mood", l moods);
insert into t values (1, 'ok', '{ok}');
-- do --
alter type "Mood" rename to feeling;
alter type feeling set schema shop;
