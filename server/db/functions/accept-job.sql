-- Stores a job with its first event and its links to pictures, or returns why it is refused; a refusal stores nothing. One
-- round trip of server/jobs/submit.ts.
-- p_job has the columns of jobs in camelCase, p_links [{role, imageId}], p_rules what the checks need (AcceptRules of
-- server/jobs/admission.ts). A job that finds its line empty and room in the window goes straight there.
-- outcome: accepted, known (the key has its job), input_missing, storage_quota, open_jobs, guests_full, queue_full.
-- detail: facts of the outcome. is_queued: it is in the window. idle: free slots for it then. needs_dispatch: the line
-- has to be dispatched after the commit.
create or replace function accept_job(p_job jsonb, p_links jsonb, p_rules jsonb)
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
  perform lock_submits(v_owner);
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
  if p_rules ? 'maxBytes' then
    select coalesce(sum(size_bytes), 0) into v_count from images i where i.owner_id = v_owner and (i.deleted_at is null
      or i.deleted_at > now() - (p_rules ->> 'undoDeleteMs')::float8 * interval '1 millisecond');
    if v_count >= (p_rules ->> 'maxBytes')::bigint then
      return query select 'storage_quota', jsonb_build_object('usedBytes', v_count), false, 0, false;
      return;
    end if;
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
      perform lock_crowded_line(v_queue);
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
  if try_lock_line(v_queue) then
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
    size_class, input_count, retention, retry_of, retry_number, once, max_retries, session_id, metadata, request_id, api_key_id, traceparent,
    model, own_only, agreed, template,
    revision, ring, queued_at, rung_at)
  values (v_id, v_owner, p_job ->> 'kind', case when v_is_queued then 'queued' else 'pending' end, (p_job ->> 'tier')::int,
    p_job -> 'params', v_queue, p_job ->> 'engine', p_job ->> 'workflow', v_need, p_job -> 'placement', p_job -> 'estimate',
    (p_job ->> 'sizeClass')::smallint, (p_job ->> 'inputCount')::smallint, p_job ->> 'retention',
    (p_job ->> 'retryOf')::uuid, (p_job ->> 'retryNumber')::int, (p_job ->> 'once')::boolean,
    (p_job ->> 'maxRetries')::smallint, p_job ->> 'sessionId', p_job -> 'metadata', p_job ->> 'requestId', p_job ->> 'apiKeyId', p_job ->> 'traceparent',
    p_job ->> 'model', coalesce((p_job ->> 'ownOnly')::boolean, false), p_job -> 'agreed', p_job -> 'template',
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
    if found and p_rules -> 'consent' ? 'entry' then
      insert into audit_entries (id, kind, outcome, actor, actor_id, key_id, person_id, object_id, address, request_id, details)
      select e.* from jsonb_to_record(p_rules -> 'consent' -> 'entry') as e (id uuid, kind text, outcome text, actor text,
        "actorId" text, "keyId" text, "personId" text, "objectId" text, address text, "requestId" text, details jsonb);
    end if;
  end if;
  if v_is_queued then
    insert into job_events (job_id, revision, type, status) values (v_id, 2, 'queued', 'queued');
    insert into queue_turns (queue, owner_id, served_at) values (v_queue, v_owner, clock_timestamp())
      on conflict (queue, owner_id) do update set served_at = excluded.served_at;
  end if;
  return query select 'accepted', '{}'::jsonb, v_is_queued, case when v_is_queued then idle_slots(v_queue, v_need) else 0 end, v_needs_dispatch;
end $$;
