-- What triggers of rows are called for, and what they return.
create table t (id int primary key, v text, n int default 7, g int generated always as (n * 2) stored, at text);
create function f() returns trigger language plpgsql as $$
begin
  raise notice '% % % % % args %', tg_name, tg_when, tg_level, tg_op, tg_table_name, tg_argv;
  raise notice 'old % new %', old, new;
  if tg_op = 'DELETE' then return old; end if;
  return new;
end $$;
create trigger b before insert or update or delete on t for each row execute function f('x', 2);
create trigger a before insert or update or delete on t for each row execute function f();
create trigger z after insert or update or delete on t for each row execute function f('after');
insert into t (id, v) values (1, 'one'), (2, 'two');
select * from t order by 1;
update t set v = v || '!' where id = 1;
update t set v = v || '!' where id = 2;
update t set id = id + 10 where id = 1;
insert into t values (2, 'again') on conflict (id) do update set v = excluded.v || t.v returning *;
insert into t values (2, 'again') on conflict (id) do nothing;
select * from t order by 1;
delete from t where id = 2 returning *;
select * from t order by 1;
create function stamp() returns trigger language plpgsql as $$
begin new.at := 'stamped ' || tg_op; if new.v = 'skip' then return null; end if; if new.v = 'err' then raise exception 'no %', new.id; end if; return new; end $$;
drop trigger a on t; drop trigger b on t; drop trigger z on t;
create trigger s before insert or update on t for each row when (new.n > 0) execute function stamp();
insert into t (id, v) values (20, 'a'), (21, 'skip'), (22, 'b') returning *;
insert into t (id, v, n) values (23, 'skip', 0);
insert into t (id, v) values (24, 'err');
update t set v = 'skip' where id in (20, 22);
select * from t order by 1;
create or replace function bad() returns trigger language plpgsql as $$ begin end $$;
create trigger bad after insert on t for each row execute function bad();
insert into t (id) values (30);
drop trigger bad on t;
select bad();
select pg_trigger_depth();
create function rec() returns trigger language plpgsql as $$ begin if pg_trigger_depth() < 4 then insert into t (id, v) values (new.id + 100, pg_trigger_depth()::text); end if; return null; end $$;
create trigger rec after insert on t for each row execute function rec();
insert into t (id) values (1000);
select id, v from t where id >= 1000 order by 1;
drop function rec();
drop function rec() cascade;
alter table t rename column n to nn;
drop trigger nope on t;
drop trigger if exists nope on t;
drop trigger if exists nope on nosuch;
alter trigger s on t rename to s2;
comment on trigger s2 on t is 'hello';
