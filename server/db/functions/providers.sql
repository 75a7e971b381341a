-- The choice of a provider reads all it depends on in one statement, decides, and stores the intent with one of these calls.
--
-- reserve_attempt  server/providers/attempts.ts  stores an attempt, unless others were stored since the read
-- try_provider     server/jobs/cloud-choice.ts   the same for a claimed job, which then waits for that attempt
--
-- All rules of the choice (limits, cooldowns, caps) are in server/providers; here is only the guard that makes a decision
-- by what was read before as good as one under a lock.

-- Whether a provider may be called at this price for a job with these bounds (jobs.agreed); a null price is unknown.
-- isWithin of server/providers/agreed.ts is the same rule, and a test compares both.
create or replace function is_agreed(p_agreed jsonb, p_price_usd float8) returns boolean language sql immutable as $$
  select p_agreed is null or (not (p_agreed ->> 'ownOnly')::boolean and case
    when p_price_usd is null then (p_agreed ->> 'unknownPrice')::boolean
    else p_price_usd <= (p_agreed ->> 'maxPriceUsd')::float8 + 1e-6 end)
$$;

-- Stores an attempt; no row when p_seen is old: {since, stored} is how many attempts of the studio were stored since a
-- time, calls of language models included. Attempts are stored one after the other under lock_spend, and each
-- statement here sees what the last holder committed, so that of two callers with the same facts only the first one stores.
-- p_attempt has columns of provider_attempts in camelCase, submitLimitS and runLimitS.
create or replace function reserve_attempt(p_attempt jsonb, p_seen jsonb) returns setof provider_attempts language plpgsql as $$
begin
  perform lock_spend();
  if (select count(*) from provider_attempts where created_at > (p_seen ->> 'since')::timestamptz)
    + (select count(*) from model_calls where started_at > (p_seen ->> 'since')::timestamptz)
    <> (p_seen ->> 'stored')::bigint
  then
    return;
  end if;
  return query
    insert into provider_attempts (id, job_id, owner_id, api_key_id, node_id, model, provider, key_id, endpoint, state, token, price_usd,
      next_poll_at, deadline_at)
    values ((p_attempt ->> 'id')::uuid, (p_attempt ->> 'jobId')::uuid, p_attempt ->> 'ownerId',
      (select j.api_key_id from jobs j where j.id = (p_attempt ->> 'jobId')::uuid), (p_attempt ->> 'nodeId')::uuid,
      p_attempt ->> 'model', p_attempt ->> 'provider', p_attempt ->> 'keyId', p_attempt ->> 'endpoint', 'submitting',
      p_attempt ->> 'token', (p_attempt ->> 'priceUsd')::float8,
      clock_timestamp() + (p_attempt ->> 'submitLimitS')::float8 * interval '1 second',
      clock_timestamp() + (p_attempt ->> 'runLimitS')::float8 * interval '1 second')
    returning *;
end $$;

-- reserve_attempt for a job that a worker holds by the lease {jobId, attempt, nodeId}: the job gets the attempt, and its
-- story the event `provider_tried` with p_data. outcome: stored, old (see above), fenced (the lease is no longer current,
-- or the price was not agreed to).
create or replace function try_provider(p_lease jsonb, p_data jsonb, p_attempt jsonb, p_seen jsonb)
returns table (outcome text, revision int, attempt jsonb) language plpgsql as $$
#variable_conflict use_column
declare
  v_job uuid := (p_lease ->> 'jobId')::uuid;
  v_attempt provider_attempts;
  v_revision int;
  v_agreed jsonb;
begin
  select jobs.agreed into v_agreed from jobs where id = v_job and attempt = (p_lease ->> 'attempt')::int and node_id = (p_lease ->> 'nodeId')::uuid
    and status = 'processing' for no key update;
  if not found then
    return query select 'fenced', 0, null::jsonb;
    return;
  end if;
  -- Workers of an older version know no agreement: what they must not buy is refused here.
  if not is_agreed(v_agreed, case when p_attempt ->> 'isPriceKnown' = 'false' then null
    else (p_attempt ->> 'priceUsd')::float8 end)
  then
    return query select 'fenced', 0, null::jsonb;
    return;
  end if;
  select * into v_attempt from reserve_attempt(p_attempt, p_seen);
  if v_attempt.id is null then
    return query select 'old', 0, null::jsonb;
    return;
  end if;
  update jobs set provider_attempt_id = v_attempt.id, stage = 'submitting', revision = jobs.revision + 1 where id = v_job
    returning jobs.revision into v_revision;
  insert into job_events (job_id, revision, type, status, data) values (v_job, v_revision, 'provider_tried', 'processing', p_data);
  return query select 'stored', v_revision, to_jsonb(v_attempt);
end $$;
