-- Moves rows from the line into the window, in fair order: called by server/jobs/dispatch.ts. In PL/pgSQL each statement
-- sees what was committed before it began, so a statement after a lock counts what the last holder of the lock stored.

-- The next row of a line: highest tier, then the owner served longest ago, then the first due job of that owner. Rows whose
-- need is in p_full and rows in p_picked are left out. Walks from owner to owner over the index jobs_line.
create or replace function line_head(p_queue text, p_full text[], p_picked uuid[])
returns table (id uuid, need text, owner_id text) language sql stable as $$
  select head.id, head.need, owner.owner_id
  from unnest(array[3, 2, 1, 0]) as t(tier)
  cross join lateral (
    with recursive step as (
      (select j.owner_id from jobs j where j.queue = p_queue and j.status = 'pending' and j.tier = t.tier order by j.owner_id limit 1)
      union all
      select (select j.owner_id from jobs j
        where j.queue = p_queue and j.status = 'pending' and j.tier = t.tier and j.owner_id > step.owner_id
        order by j.owner_id limit 1)
      from step where step.owner_id is not null
    )
    select step.owner_id from step where step.owner_id is not null
  ) owner
  cross join lateral (
    select j.id, j.need from jobs j
    where j.queue = p_queue and j.status = 'pending' and j.tier = t.tier and j.owner_id = owner.owner_id
      and j.need <> all(p_full) and j.id <> all(p_picked) and (j.not_before is null or j.not_before <= now())
    order by j.owner_order, j.id limit 1
  ) head
  left join queue_turns turn on turn.queue = p_queue and turn.owner_id = owner.owner_id
  order by t.tier desc, turn.served_at nulls first, head.id limit 1
$$;

-- Slots of the active nodes that serve a need, by the state of the node alone: right after an outage of the database no
-- node has a recent beat.
create or replace function serving_slots(p_queue text, p_need text) returns int language sql stable as $$
  select coalesce(sum(q.slots), 0)::int from node_queues q join nodes n on n.id = q.node_id and n.state = 'active'
  where q.queue = p_queue and p_need = any(q.needs)
$$;

-- Free slots of the active nodes that serve a need.
create or replace function idle_slots(p_queue text, p_need text) returns int language sql stable as $$
  select coalesce(sum(greatest(0, q.slots - (
    select count(*) from jobs r where r.node_id = n.id and r.queue = p_queue and r.status in ('waiting_for_engine', 'processing')
  ))), 0)::int
  from node_queues q join nodes n on n.id = q.node_id and n.state = 'active'
  where q.queue = p_queue and p_need = any(q.needs)
$$;

-- Rows of a need that may still enter the window, less the unclaimed ones: at least one, as many as slots are free, and with all slots
-- busy a few for each, since what is in the window comes before everybody who submits later. Most fleets have so few slots that all count.
create or replace function window_room(p_queue text, p_need text) returns int language sql stable as $$
  select greatest(1, least(s.slots, greatest(idle_slots(p_queue, p_need), 4 + s.slots / 8)))
    - (select count(*) from jobs where queue = p_queue and status = 'queued' and need = p_need and avoid = '{}')::int
  from (select serving_slots(p_queue, p_need) as slots) s
$$;

-- The row was claimed before and its last attempt was not charged, or a server still holds its prompt: its owner has already
-- used a turn for it, so it is before all others. Not in the queue `cloud`, where a job that found all providers busy waits
-- at the end of the line.
create or replace function is_resumed(p_job jobs) returns boolean language sql immutable as $$
  select p_job.attempt > 0 and p_job.queue <> 'cloud' and (p_job.external_id is not null or p_job.attempt > p_job.charged)
$$;

-- Fills the window of a queue and returns the rows that were moved, with the idle slots for the need of each.
create or replace function dispatch_queue(p_queue text)
returns table (id uuid, owner_id text, need text, revision int, attempt int, ring int, idle int) language plpgsql as $$
#variable_conflict use_column
declare
  v_room jsonb := '{}';
  v_full text[] := '{}';
  v_picked uuid[] := '{}';
  v_head record;
begin
  -- Without the lock first, since most calls find no room. A row that is committed later has a later call.
  if not exists (
    select from jobs j where j.queue = p_queue and j.status = 'pending' and is_resumed(j)
      and (j.not_before is null or j.not_before <= now())
  ) then
    loop
      select * into v_head from line_head(p_queue, v_full, v_picked);
      if v_head.id is null then return; end if;
      exit when window_room(p_queue, v_head.need) > 0;
      v_full := v_full || v_head.need;
    end loop;
    v_full := '{}';
  end if;
  perform lock_line(p_queue);
  -- There is at most one resumed row for each slot, so they enter a full window too.
  for v_head in
    select j.id, j.need from jobs j
    where j.queue = p_queue and j.status = 'pending' and is_resumed(j) and (j.not_before is null or j.not_before <= now())
    order by j.id
  loop
    v_picked := v_picked || v_head.id;
    v_room := v_room || jsonb_build_object(v_head.need,
      coalesce((v_room ->> v_head.need)::int, window_room(p_queue, v_head.need)) - 1);
  end loop;
  loop
    select * into v_head from line_head(p_queue, v_full, v_picked);
    exit when v_head.id is null;
    if not v_room ? v_head.need then
      v_room := v_room || jsonb_build_object(v_head.need, window_room(p_queue, v_head.need));
    end if;
    if (v_room ->> v_head.need)::int <= 0 then
      v_full := v_full || v_head.need;
      continue;
    end if;
    insert into queue_turns (queue, owner_id, served_at) values (p_queue, v_head.owner_id, clock_timestamp())
      on conflict (queue, owner_id) do update set served_at = excluded.served_at;
    v_picked := v_picked || v_head.id;
    v_room := v_room || jsonb_build_object(v_head.need, (v_room ->> v_head.need)::int - 1);
  end loop;
  if v_picked = '{}' then return; end if;
  return query
    with moved as (
      update jobs set status = 'queued', revision = jobs.revision + 1, ring = jobs.ring + 1, not_before = null,
        queued_at = clock_timestamp(), rung_at = clock_timestamp()
      where jobs.id in (
        select j.id from jobs j where j.id = any(v_picked) and j.status = 'pending' order by j.id for update
      )
      returning jobs.id, jobs.owner_id, jobs.need, jobs.revision, jobs.attempt, jobs.ring
    ), logged as (
      insert into job_events (job_id, revision, type, status) select moved.id, moved.revision, 'queued', 'queued' from moved
    )
    select moved.id, moved.owner_id, moved.need, moved.revision, moved.attempt, moved.ring, idle_slots(p_queue, moved.need)
    from moved;
end $$;
