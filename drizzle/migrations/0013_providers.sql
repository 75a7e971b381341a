CREATE TABLE "model_chains" (
	"model" text PRIMARY KEY NOT NULL,
	"providers" text[] NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "provider_attempts" (
	"id" uuid PRIMARY KEY NOT NULL,
	"job_id" uuid,
	"owner_id" text,
	"provider" text NOT NULL,
	"key_id" text NOT NULL,
	"model" text NOT NULL,
	"endpoint" text NOT NULL,
	"state" text NOT NULL,
	"node_id" uuid,
	"external_id" text,
	"urls" jsonb,
	"token" text NOT NULL,
	"price_usd" double precision,
	"cost_usd" double precision,
	"error_class" text,
	"error_message" text,
	"retry_after_ms" integer,
	"created_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"accepted_at" timestamp (3) with time zone,
	"ended_at" timestamp (3) with time zone,
	"polls" integer DEFAULT 0 NOT NULL,
	"next_poll_at" timestamp (3) with time zone,
	"deadline_at" timestamp (3) with time zone,
	"finish_token" uuid,
	"finish_until" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "provider_settings" (
	"provider" text PRIMARY KEY NOT NULL,
	"is_enabled" boolean DEFAULT true NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "spending_caps" (
	"user_id" text PRIMARY KEY NOT NULL,
	"daily_usd" double precision,
	"monthly_usd" double precision
);
--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "cloud_policy" text;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "model" text;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "own_only" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "provider_attempt_id" uuid;--> statement-breakpoint
ALTER TABLE "provider_attempts" ADD CONSTRAINT "provider_attempts_job_id_jobs_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."jobs"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "provider_attempts" ADD CONSTRAINT "provider_attempts_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "spending_caps" ADD CONSTRAINT "spending_caps_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "provider_attempts_job" ON "provider_attempts" USING btree ("job_id");--> statement-breakpoint
CREATE INDEX "provider_attempts_key" ON "provider_attempts" USING btree ("provider","key_id","created_at");--> statement-breakpoint
CREATE INDEX "provider_attempts_owner" ON "provider_attempts" USING btree ("owner_id","created_at");--> statement-breakpoint
CREATE INDEX "provider_attempts_age" ON "provider_attempts" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "provider_attempts_due" ON "provider_attempts" USING btree ("next_poll_at") WHERE "provider_attempts"."state" in ('submitting', 'unknown', 'accepted');--> statement-breakpoint
CREATE UNIQUE INDEX "provider_attempts_token" ON "provider_attempts" USING btree ("token");
--> statement-breakpoint
-- dispatch_queue of 0007, but in the queue `cloud` a job that found its providers busy waits at the end of the line. Fills the window of a queue and returns the rows that were moved, with the idle slots for the need of each.
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
    select from jobs where queue = p_queue and p_queue <> 'cloud' and status = 'pending' and attempt > 0
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
    where j.queue = p_queue and p_queue <> 'cloud' and j.status = 'pending' and j.attempt > 0
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
-- accept_job of 0009, which now stores model and own_only, too.
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
    size_class, input_count, retention, retry_of, retry_number, once, max_retries, session_id, metadata, request_id,
    model, own_only,
    revision, ring, queued_at, rung_at)
  values (v_id, v_owner, p_job ->> 'kind', case when v_is_queued then 'queued' else 'pending' end, (p_job ->> 'tier')::int,
    p_job -> 'params', v_queue, p_job ->> 'engine', p_job ->> 'workflow', v_need, p_job -> 'placement', p_job -> 'estimate',
    (p_job ->> 'sizeClass')::smallint, (p_job ->> 'inputCount')::smallint, p_job ->> 'retention',
    (p_job ->> 'retryOf')::uuid, (p_job ->> 'retryNumber')::int, (p_job ->> 'once')::boolean,
    (p_job ->> 'maxRetries')::smallint, p_job ->> 'sessionId', p_job -> 'metadata', p_job ->> 'requestId',
    p_job ->> 'model', coalesce((p_job ->> 'ownOnly')::boolean, false),
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
