-- Errors in anonymous blocks: their places and contexts.
DO $$
begin
  retur 1;
end $$;
DO $$
begin
  if 1 then null; end loop;
end $$;
DO $$
declare x int := 'a';
begin
  x := foo + 1;
end $$;
DO $$
declare x int;
begin
  x := foo + 1;
end $$;
DO $$
declare x int;
begin
  x := 1/0;
end $$;
DO $$
declare x int;
begin
  y := 1/0;
end $$;
DO $$
declare x int;
begin
  select 1 into y;
end $$;
DO $$
begin
  select 1;
end $$;
DO $$
begin
  insert into nosuch values (1);
end $$;
DO $$
begin
  x := 1 +;
end $$;
DO $$
declare x int;
begin
  x := 1 +;
end $$;
DO $$
begin
  raise exception 'a % b', 1 using hint = 'h', detail = 'd';
end $$;
DO $$
begin
  raise notice 'a % b';
end $$;
DO $$
begin
  execute 'selec 1';
end $$;
DO $$
begin
  for i in 1..3 loop raise notice '%', i; end loop;
  return 1;
end $$;
DO $$
declare r record;
begin
  raise notice '%', r.f;
end $$;
DO $$
declare r record;
begin
  select 1 as a, 'x' as b into r; raise notice '% %', r, r.a; raise notice '%', r.f;
end $$;
DO $$
declare x int not null; begin end $$;
DO $$
declare x constant int := 1; begin x := 2; end $$;
DO $$
declare x int not null := 1; begin x := null; end $$;
DO $$
declare x int[]; begin x[2] := 5; x[4]:=7; raise notice '%', x; x[1:2] := array[8,9]; raise notice '%', x; end $$;
DO $$
declare x numeric(3,1); y int; begin x := 1.25; raise notice '%', x; y := '12'; y := 1.7; raise notice '%', y; y := 'zz'; end $$;
DO $$ begin case 3 when 1 then null; end case; end $$;
DO $$ begin <<a>> loop exit b; end loop; end $$;
DO $$ begin exit; end $$;
DO LANGUAGE sql $$ select 1 $$;
DO LANGUAGE foo $$ select 1 $$;
