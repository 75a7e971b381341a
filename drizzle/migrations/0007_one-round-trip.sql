CREATE INDEX "jobs_line_tried" ON "jobs" USING btree ("queue","id") WHERE "jobs"."status" = 'pending' and "jobs"."attempt" > 0;--> statement-breakpoint
-- The short way of a job: what took several round trips is one call each. In PL/pgSQL each statement sees what was
-- committed before it began, so that a statement after a lock counts what the last holder of the lock stored.
--
-- accept_job      server/jobs/submit.ts     checks the limits of the owner and the queue, stores the job
-- dispatch_queue  server/jobs/dispatch.ts   moves rows from the line into the window, in fair order
-- line_head, window_room, idle_slots        the parts that both use
--
-- Two-key advisory locks, all until the end of the transaction: ('submit', owner), ('line', queue), ('dispatch', queue).

-- The next row of a line: highest tier, then the owner served longest ago, then the first due job of that owner. Rows whose
-- need is in p_full and rows in p_picked are left out. Walks from owner to owner over the index jobs_line.
create function line_head(p_queue text, p_full text[], p_picked uuid[])
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
--> statement-breakpoint
-- Rows of a need that may still enter the window: as many as live slots can run, at least one, less the unclaimed ones.
create function window_room(p_queue text, p_need text) returns int language sql stable as $$
  select (
    greatest(1, (select coalesce(sum(q.slots), 0) from node_queues q join nodes n on n.id = q.node_id and n.state = 'active'
      where q.queue = p_queue and p_need = any(q.needs)))
    - (select count(*) from jobs where queue = p_queue and status = 'queued' and need = p_need and avoid = '{}')
  )::int
$$;
--> statement-breakpoint
-- Free slots of the active nodes that serve a need.
create function idle_slots(p_queue text, p_need text) returns int language sql stable as $$
  select coalesce(sum(greatest(0, q.slots - (
    select count(*) from jobs r where r.node_id = n.id and r.queue = p_queue and r.status in ('waiting_for_engine', 'processing')
  ))), 0)::int
  from node_queues q join nodes n on n.id = q.node_id and n.state = 'active'
  where q.queue = p_queue and p_need = any(q.needs)
$$;
--> statement-breakpoint
-- Fills the window of a queue and returns the rows that were moved, with the idle slots for the need of each.
create function dispatch_queue(p_queue text)
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
    select from jobs where queue = p_queue and status = 'pending' and attempt > 0
      and (external_id is not null or attempt > charged) and (not_before is null or not_before <= now())
  ) then
    loop
      select * into v_head from line_head(p_queue, v_full, v_picked);
      if v_head.id is null then return; end if;
      exit when window_room(p_queue, v_head.need) > 0;
      v_full := v_full || v_head.need;
    end loop;
    v_full := '{}';
  end if;
  perform pg_advisory_xact_lock(hashtext('dispatch'), hashtext(p_queue));
  -- Rows that were claimed before and not charged, or whose prompt a server still holds: their owner has already used a
  -- turn for them. There is at most one for each slot, so they enter a full window too.
  for v_head in
    select j.id, j.need from jobs j
    where j.queue = p_queue and j.status = 'pending' and j.attempt > 0
      and (j.external_id is not null or j.attempt > j.charged) and (j.not_before is null or j.not_before <= now())
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
--> statement-breakpoint
-- Stores a job with its first event and its links to pictures, or returns why it is refused; a refusal stores nothing.
-- p_job has the columns of jobs in camelCase, p_links [{role, imageId}], p_rules what the checks need (AcceptRules of
-- submit.ts). A job that finds its line empty and room in the window goes straight there.
-- outcome: accepted, known (the key has its job), input_missing, storage_quota, open_jobs, guests_full, queue_full.
-- detail: facts of the outcome. is_queued: it is in the window. idle: free slots for it then. needs_dispatch: the line
-- has to be dispatched after the commit.
create function accept_job(p_job jsonb, p_links jsonb, p_rules jsonb)
returns table (outcome text, detail jsonb, is_queued boolean, idle int, needs_dispatch boolean) language plpgsql as $$
#variable_conflict use_column
declare
  v_id uuid := (p_job ->> 'id')::uuid;
  v_owner text := p_job ->> 'ownerId';
  v_queue text := p_job ->> 'queue';
  v_need text := p_job ->> 'need';
  v_max int := (p_rules ->> 'maxWaiting')::int;
  v_count bigint;
  v_known record;
  v_is_queued boolean := false;
  v_needs_dispatch boolean := true;
begin
  -- Submits of one owner count each other.
  perform pg_advisory_xact_lock(hashtext('submit'), hashtext(v_owner));
  if p_rules ? 'key' then
    select k.job_id, k.request_sha256, j.status into v_known
    from idempotency_keys k left join jobs j on j.id = k.job_id
    where k.owner_id = v_owner and k.key = p_rules ->> 'key';
    if found then
      return query select 'known', jsonb_build_object('id', v_known.job_id, 'status', v_known.status,
        'isSame', v_known.request_sha256 = p_rules ->> 'requestSha256'), false, 0, false;
      return;
    end if;
  end if;
  perform from images i where i.owner_id = v_owner and i.deleted_at is null
    and i.id in (select (link ->> 'imageId')::uuid from jsonb_array_elements(p_links) link) for share;
  get diagnostics v_count = row_count;
  if v_count < (select count(distinct link ->> 'imageId') from jsonb_array_elements(p_links) link) then
    return query select 'input_missing', '{}'::jsonb, false, 0, false;
    return;
  end if;
  select coalesce(sum(size_bytes), 0) into v_count from images i where i.owner_id = v_owner and (i.deleted_at is null
    or i.deleted_at > now() - (p_rules ->> 'undoDeleteMs')::float8 * interval '1 millisecond');
  if v_count >= (p_rules ->> 'maxBytes')::bigint then
    return query select 'storage_quota', jsonb_build_object('usedBytes', v_count), false, 0, false;
    return;
  end if;
  select count(*) into v_count from jobs
  where owner_id = v_owner and status in ('pending', 'queued', 'waiting_for_engine', 'processing');
  if v_count >= (p_rules ->> 'maxOpen')::int then
    return query select 'open_jobs', jsonb_build_object('own', v_count), false, 0, false;
    return;
  end if;
  if v_max is not null then
    select count(*) into v_count from (select from jobs where queue = v_queue and status = 'pending' limit v_max) line;
    -- Near the limit submits of all owners take turns, and count again what the last one stored.
    if v_count >= (p_rules ->> 'crowdedFrom')::int then
      perform pg_advisory_xact_lock(hashtext('line'), hashtext(v_queue));
      select count(*) into v_count from (select from jobs where queue = v_queue and status = 'pending' limit v_max) line;
    end if;
    if v_count >= v_max then
      return query select 'queue_full', '{}'::jsonb, false, 0, false;
      return;
    end if;
    if v_count >= (p_rules ->> 'maxGuests')::int then
      select count(*) into v_count from jobs j join users u on u.id = j.owner_id
      where j.queue = v_queue and j.status = 'pending' and u.is_anonymous;
      if v_count >= (p_rules ->> 'maxGuests')::int then
        return query select 'guests_full', '{}'::jsonb, false, 0, false;
        return;
      end if;
    end if;
  end if;
  -- Nothing leaves the line while this transaction holds its lock, so what is found here stays true until the commit.
  if pg_try_advisory_xact_lock(hashtext('dispatch'), hashtext(v_queue)) then
    if exists (select from jobs where queue = v_queue and status = 'pending' and need = v_need
      and (not_before is null or not_before <= now()))
    then
      -- The dispatch that the waiting row still gets, now or after the next claim, sees this row as well.
      v_needs_dispatch := false;
    elsif window_room(v_queue, v_need) > 0 then
      v_is_queued := true;
      v_needs_dispatch := false;
    end if;
  end if;
  insert into jobs (id, owner_id, kind, status, tier, params, queue, engine, workflow, need, placement, estimate,
    size_class, input_count, retention, retry_of, retry_number, once, revision, ring, queued_at, rung_at)
  values (v_id, v_owner, p_job ->> 'kind', case when v_is_queued then 'queued' else 'pending' end, (p_job ->> 'tier')::int,
    p_job -> 'params', v_queue, p_job ->> 'engine', p_job ->> 'workflow', v_need, p_job -> 'placement', p_job -> 'estimate',
    (p_job ->> 'sizeClass')::smallint, (p_job ->> 'inputCount')::smallint, p_job ->> 'retention',
    (p_job ->> 'retryOf')::uuid, (p_job ->> 'retryNumber')::int, (p_job ->> 'once')::boolean,
    1 + v_is_queued::int, v_is_queued::int, case when v_is_queued then clock_timestamp() end, case when v_is_queued then clock_timestamp() end);
  insert into job_events (job_id, revision, type, status, data) values (v_id, 1, 'created', 'pending', p_rules -> 'event');
  insert into job_inputs (job_id, role, image_id)
    select v_id, link ->> 'role', (link ->> 'imageId')::uuid from jsonb_array_elements(p_links) link;
  if p_rules ? 'key' then
    insert into idempotency_keys (owner_id, key, request_sha256, job_id)
    values (v_owner, p_rules ->> 'key', p_rules ->> 'requestSha256', v_id);
  end if;
  if p_rules ? 'consent' then
    insert into consents (id, owner_id, stored_sha256, statement)
    values ((p_rules -> 'consent' ->> 'id')::uuid, v_owner, p_rules -> 'consent' ->> 'storedSha256', p_rules -> 'consent' ->> 'statement')
    on conflict do nothing;
  end if;
  if v_is_queued then
    insert into job_events (job_id, revision, type, status) values (v_id, 2, 'queued', 'queued');
    insert into queue_turns (queue, owner_id, served_at) values (v_queue, v_owner, clock_timestamp())
      on conflict (queue, owner_id) do update set served_at = excluded.served_at;
  end if;
  return query select 'accepted', '{}'::jsonb, v_is_queued, case when v_is_queued then idle_slots(v_queue, v_need) else 0 end, v_needs_dispatch;
end $$;
