-- Rows that two nodes touch are written in the order of their keys, so that no two wait for each other. No function has an
-- empty line in it: one ends a statement.

create index open_calls_of_account on open_call_rows (account_id);

-- Behind the numbers that the tables begin with.
alter table names alter column id restart with 100;

-- New names are committed in the order of their numbers: one transaction at a time gives numbers. So a database that has a row has
-- all rows before it, and the random proof of a row says that it is the same row.
alter table names add column proof uuid not null default gen_random_uuid();

create function add_names(given text[]) returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('names', 0));
  insert into names (name) select name from unnest(given) as given (name)
  where not exists (select from names where names.name = given.name) order by name
  -- Needs the index, which a table that is being restored does not have yet: what would be written to it comes twice.
  on conflict (name) do nothing;
end $$;

-- Who holds and who is charged is looked up by the statement that does it: the row of a payer may have gone with a restore since the
-- gateway wrote it. Each look-up is a subquery of a row, which always takes the index; a join reads all payers while they are few.
-- MG001 is read by src/db/errors.ts.
create function refuse_payer(missing bigint) returns text language plpgsql as $$
begin
  raise exception using errcode = 'MG001', message = 'payer ' || missing || ' of a call is not in this database';
end $$;

-- The ends of calls. A call that has ended is left as it is: the first end counts, except that one which was taken for
-- abandoned is settled after all. A hold may have been lost with the last moments before a crash of the server, so that an
-- end needs none, unless it is only to take back a hold that may have been written.
create function end_calls(node integer, ends json) returns void language plpgsql as $$
begin
  with given as materialized (
    select * from json_to_recordset(ends) as given (unmade boolean, id bytea, {{call types}})
  ), closed as (
    delete from open_call_rows where id = any (array(select id from given)) returning id
  ), ended as (
    insert into call_rows (node_id, id, {{call names}})
    select node, id, {{call names}}
    from given where unmade is not true or id in (select id from closed)
    on conflict (id) do update set
      seq = excluded.seq, {{end updates}}
    where call_rows.state = 3
    returning account_id, key_id, model, session, tag, end_user, opened_at, settled_at, quota_day, quota_tokens, charged_nanodollars
  ), paid as (
    select coalesce((select payers.id from payers where no = ended.account_id), refuse_payer(ended.account_id)) as account_name,
      coalesce((select payers.id from payers where no = ended.key_id), refuse_payer(ended.key_id)) as key_name,
      account_id, key_id, model, session, tag, end_user, opened_at, settled_at, opened_at / 86400000 as day, quota_day, quota_tokens, charged_nanodollars
    from ended
  ), charged as (
    select * from paid where charged_nanodollars <> 0
  ), moves as (
    insert into wallet_rows (account_id, balance_nanodollars)
    select account_id, -sum(charged_nanodollars) from charged group by account_id order by account_id
    on conflict (account_id) do update
    set balance_nanodollars = wallet_rows.balance_nanodollars + excluded.balance_nanodollars
  ), draws as (
    insert into daily_quota_usage (account_id, day, used_tokens)
    select account_name, quota_day, sum(quota_tokens) from paid where quota_day is not null and quota_tokens <> 0
    group by account_name, quota_day order by account_name, quota_day
    on conflict (account_id, day) do update set used_tokens = daily_quota_usage.used_tokens + excluded.used_tokens
  ), spent as (
    select account_id, account_id as subject_id, '' as name, day, charged_nanodollars, null::bigint as first_at, null::bigint as last_at
    from charged
    union all
    select account_id, key_id, '', day, charged_nanodollars, null, null from charged
    union all
    select charged.account_id, budgets.no, counted.name, day, charged_nanodollars,
      case budgets.subject when 'session' then opened_at end, case budgets.subject when 'session' then settled_at end
    from charged join budgets on budgets.account_id in ('', account_name) and coalesce(budgets.key_id, key_name) = key_name,
      lateral (select case budgets.subject when 'end_user' then coalesce(end_user, '') when 'tag' then coalesce(tag, '')
        when 'session' then coalesce(session, '') when 'model' then (select names.name from names where names.id = model) end) as counted (name)
    where counted.name is not null and coalesce(budgets.name, counted.name) = counted.name
  )
  insert into spending (account_id, subject_id, name, day, spent_nanodollars, first_at, last_at)
  select account_id, subject_id, name, day, sum(charged_nanodollars), min(first_at), max(last_at) from spent
  group by account_id, subject_id, name, day order by account_id, subject_id, name, day
  on conflict (account_id, subject_id, name, day) do update
  set spent_nanodollars = spending.spent_nanodollars + excluded.spent_nanodollars,
    first_at = least(spending.first_at, excluded.first_at), last_at = greatest(spending.last_at, excluded.last_at);
end $$;

-- The spent and the held amount of each budget that a call draws on, held by running calls other than one. A draw is the number of the
-- sums and their name, their days from and until, the subject, its name, the number of the key whose calls alone count, the moment
-- at which a session must not have been silent for a day, and today. Days that have not come: see src/db/schema.ts.
create function read_budgets(account bigint, draws json, except_id bytea)
returns table (place bigint, spent bigint, held numeric, is_ahead boolean) language sql stable as $$
  select draw.place,
    coalesce(case when item ->> 7 is null then (select sum(spent_nanodollars) from spending where account_id = account
        and subject_id = (item ->> 0)::bigint and name = item ->> 1 and day >= (item ->> 2)::bigint
        and (day < (item ->> 3)::bigint or (day > (item ->> 8)::bigint and (day <= (item ->> 8)::bigint + 1
          or (coalesce(counted_day, (item ->> 8)::bigint) >= (item ->> 2)::bigint
            and coalesce(counted_day, (item ->> 8)::bigint) < (item ->> 3)::bigint)))))
      else (select sum(spent_nanodollars) from (select spent_nanodollars, run, max(run) over () as last_run, max(last_at) over () as last_at
          from session_spending where account_id = account and subject_id = (item ->> 0)::bigint and name = item ->> 1) as days
        where run = last_run and last_at >= (item ->> 7)::bigint - 86400000) end, 0)::bigint,
    coalesce((select sum(hold_nanodollars) from open_call_rows where account_id = account and id is distinct from except_id
      and opened_at >= (item ->> 2)::bigint * 86400000
      and (opened_at < (item ->> 3)::bigint * 86400000 or opened_at >= ((item ->> 8)::bigint + 1) * 86400000)
      and coalesce((item ->> 6)::bigint, key_id) = key_id
      and case item ->> 4 when 'end_user' then coalesce(end_user, '') when 'tag' then coalesce(tag, '')
        when 'session' then coalesce(session, '') when 'model' then (select names.name from names where names.id = model)
        else item ->> 5 end = item ->> 5), 0),
    exists (select from spending where account_id = account and subject_id = (item ->> 0)::bigint and name = item ->> 1
      and day > (item ->> 8)::bigint + 1 and counted_day is null)
  from json_array_elements(draws) with ordinality as draw (item, place)
$$;

-- Decides holds one after another and writes those that it grants. An extension is a larger hold in place of the one that the
-- call has. Nodes judge one after another too: the lock of an account
-- is held until the transaction ends, and a statement of a function sees what was committed before it began.
create function decide_holds(node integer, undecided json) returns json language plpgsql as $$
declare
  decisions json[] := '{}';
  given record;
  account text;
  wallet bigint;
  wallet_held numeric;
  quota_account text;
  of_day bigint;
  quota_used bigint;
  quota_held numeric;
  figures record;
  budget_place bigint;
  budget_spent bigint;
  budget_held numeric;
  budget_left numeric;
  there bigint;
  held numeric;
  available numeric;
  rest numeric;
  hold numeric;
  refusal text;
begin
  perform pg_advisory_xact_lock(account_id) from (
    select distinct account_id from json_to_recordset(undecided) as asked (account_id bigint) order by account_id
  ) as locks;
  for given in
    select asked.*, (select account_no from payers where no = asked.key_id) = asked.account_id as is_payer
    from rows from (json_to_recordset(undecided) as (id bytea, is_extension boolean, account_name text,
      quota_limit bigint, min_hold bigint, is_afterwards boolean, draws json, draw_limits json, {{open types}}))
      with ordinality as asked (id, is_extension, account_name, quota_limit, min_hold, is_afterwards, draws, draw_limits, {{open names}}, place)
    order by account_id, place
  loop
    if given.is_payer is not true then perform refuse_payer(given.key_id); end if;
    refusal := null;
    budget_place := null;
    budget_left := null;
    if given.premium = 1 then
      if account is distinct from given.account_name or given.is_extension then
        account := given.account_name;
        select coalesce((select balance_nanodollars from wallet_rows where account_id = given.account_id), 0),
          coalesce(sum(hold_nanodollars), 0)
          into wallet, wallet_held from open_call_rows where account_id = given.account_id and id <> given.id;
      end if;
      -- A budget stands in place of the wallet of an account that is billed afterwards.
      available := case when given.is_afterwards and given.draws is not null then 9007199254740991 else wallet - wallet_held end;
      if given.draws is not null then
        -- The scarcest of them.
        for figures in
          select read.*, (given.draw_limits ->> (read.place - 1)::integer)::bigint - read.spent - read.held as remaining,
            (given.draws -> (read.place - 1)::integer ->> 0)::bigint as subject_no, (given.draws -> (read.place - 1)::integer ->> 1) as name,
            (given.draws -> (read.place - 1)::integer ->> 8)::bigint as today
          from read_budgets(given.account_id, given.draws, given.id) as read order by remaining desc, read.place desc
        loop
          budget_place := figures.place;
          budget_spent := figures.spent;
          budget_held := figures.held;
          budget_left := figures.remaining;
          if figures.is_ahead then
            update spending set counted_day = figures.today where account_id = given.account_id and subject_id = figures.subject_no
              and spending.name = figures.name and day > figures.today + 1 and counted_day is null;
          end if;
        end loop;
      end if;
      -- least() ignores nulls: without a budget the wallet alone decides.
      rest := least(available, budget_left);
      hold := least(rest, given.hold_nanodollars);
      -- A call that costs nothing is admitted also where nothing is left.
      if given.hold_nanodollars = 0 then
        hold := 0;
      elsif rest <= 0 or hold < given.min_hold then
        refusal := case when budget_left < available or (budget_left = available and budget_left <= 0) then 'budget'
          else 'balance' end;
      end if;
      if refusal = 'budget' then
        there := budget_spent;
        held := budget_held;
      else
        there := wallet;
        held := wallet_held;
      end if;
    else
      if quota_account is distinct from given.account_name or given.is_extension then
        quota_account := given.account_name;
        of_day := (select max(day) from daily_quota_usage where account_id = quota_account);
        if of_day > given.quota_day + 1 then
          -- What a clock that was wrong has drawn counts once: see src/db/account-balance.ts.
          update daily_quota_usage set counted_day = given.quota_day
            where account_id = quota_account and day > given.quota_day + 1 and counted_day is null;
          of_day := (select max(day) from daily_quota_usage
            where account_id = quota_account and day <= given.quota_day + 1);
        end if;
        of_day := greatest(given.quota_day, of_day, (select max(quota_day) from open_call_rows
          where account_id = given.account_id and quota_day <= given.quota_day + 1));
        select coalesce((select sum(used_tokens) from daily_quota_usage where account_id = quota_account and (day = of_day
            or (day > given.quota_day + 1 and counted_day = given.quota_day))), 0),
          coalesce(sum(hold_tokens), 0)
          into quota_used, quota_held
          from open_call_rows where account_id = given.account_id and id <> given.id
          and (quota_day = of_day or quota_day > given.quota_day + 1);
      end if;
      rest := given.quota_limit - quota_used - quota_held;
      hold := least(rest, given.hold_tokens);
      if rest <= 0 or hold < given.min_hold then refusal := 'quota'; end if;
      there := quota_used;
      held := quota_held;
    end if;
    if refusal is null then
      given.quota_day := case when given.premium = 1 then null else of_day end;
      given.hold_nanodollars := case when given.premium = 1 then hold else 0 end;
      given.hold_tokens := case when given.premium = 1 then 0 else hold end;
      if given.is_extension then
        update open_call_rows set quota_day = given.quota_day,
          hold_nanodollars = given.hold_nanodollars, hold_tokens = given.hold_tokens where id = given.id;
      end if;
      -- A hold that a crash of the server has lost, or that was released with the lease of its node, is taken anew.
      if given.is_extension is not true or not found then
        insert into open_call_rows (node_id, id, {{open names}}) values (node, given.id, {{given open}});
      end if;
      if given.premium = 1 then wallet_held := wallet_held + hold;
      else quota_held := quota_held + hold;
      end if;
    elsif given.is_extension then
      -- Its old hold stays, and counts for the next.
      account := null;
      quota_account := null;
    end if;
    decisions := array_append(decisions, json_build_object('id', given.id, 'refused', refusal, 'there', there,
      'held', held, 'hold', hold, 'available', rest, 'day', of_day, 'place', budget_place));
  end loop;
  return array_to_json(decisions);
end $$;

-- Writes a row as long as that of a call into both tables, and takes it back: fails where no call can be recorded.
create function try_write() returns void language plpgsql as $$
declare
  tried bytea := convert_to('tried ' || gen_random_uuid(), 'UTF8');
begin
  insert into open_call_rows (id, account_id, key_id, model, capability, premium, opened_at, hold_nanodollars, hold_tokens, session)
  values (tried, 0, 0, 1, 1, 0, 0, 0, 0, repeat('x', 200));
  insert into call_rows (id, account_id, key_id, model, capability, premium, opened_at, hold_nanodollars, hold_tokens, state, settled_at, session)
  values (tried, 0, 0, 1, 1, 0, 0, 0, 0, 2, 0, repeat('x', 200));
  delete from open_call_rows where id = tried;
  delete from call_rows where id = tried;
end $$;

-- A batch in one round trip. The ends come first, because they free what the holds may need; a call that begins and ends in
-- one batch is late. A batch without ends does not wait for the disk. An assignment costs a quarter of a "perform".
create function record_calls(last_name bigint, last_proof uuid, node integer, held_lease bigint,
  ends json, opened json, extended json, undecided json, late json) returns json language plpgsql as $$
declare
  decisions json;
  nothing text;
  has_holds boolean := opened is not null or extended is not null or undecided is not null;
begin
  if ends is null and late is null then nothing := set_config('synchronous_commit', 'off', true);
  -- The roll-up waits for this lock, so that no end of a lower number is still to come, and so does whoever makes a budget.
  else nothing := pg_advisory_xact_lock_shared(hashtextextended('ends of calls', 0));
  end if;
  -- It keeps the lease of this node from ending in between.
  if has_holds then nothing := pg_advisory_xact_lock_shared(hashtextextended('leases of nodes', 0)); end if;
  -- The names that a batch is written with may have gone with a restore since the gateway looked them up, and their numbers to others.
  -- The last one that it knows stands for all of them. MG003 is read by src/db/errors.ts.
  if not exists (select from names where id = last_name and proof = last_proof) then
    raise exception using errcode = 'MG003', message = 'name ' || last_name || ' is not in this database as it was';
  end if;
  -- Whose lease has run out may have had its holds released: it takes no new hold, and makes none larger, before it has the next
  -- one (src/db/postgres/lease.ts). Ends need no lease. MG002 is read by src/db/errors.ts.
  if has_holds and not exists (select from nodes where id = (select name from names where names.id = node) and lease = held_lease) then
    raise exception using errcode = 'MG002', message = 'lease ' || held_lease || ' of node ' || node || ' has run out';
  end if;
  if ends is not null then nothing := end_calls(node, ends); end if;
  if opened is not null then
    insert into open_call_rows (node_id, id, {{open names}})
    select node, given.id, {{open names}}
    from json_to_recordset(opened) as given (id bytea, {{open types}})
    where case when (select account_no from payers where no = given.key_id) = given.account_id
      then true else refuse_payer(given.key_id) is not null end;
  end if;
  if extended is not null then
    update open_call_rows set hold_tokens = given.hold_tokens, quota_day = given.quota_day
    from json_to_recordset(extended) as given (id bytea, hold_tokens bigint, quota_day integer)
    where open_call_rows.id = given.id;
    -- As in decide_holds: one that was released, or lost with a crash of the server, is taken anew.
    insert into open_call_rows (node_id, id, {{open names}})
    select node, given.id, {{open names}}
    from json_to_recordset(extended) as given (id bytea, {{open types}})
    where not exists (select from open_call_rows where open_call_rows.id = given.id);
  end if;
  if undecided is not null then decisions := decide_holds(node, undecided); end if;
  if late is not null then nothing := end_calls(node, late); end if;
  return decisions;
end $$;
