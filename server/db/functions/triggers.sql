-- What triggers run. The triggers themselves belong to their tables, and stand in the migrations.

-- Whether a place of a batch goes on: its job has completed, and a step of it has neither begun nor been stopped.
create or replace function has_step_due(p_batch uuid) returns boolean language sql stable as $$
  select exists (select from batch_steps s
    join batch_jobs p on p.batch_id = s.batch_id and p.position = s.position
    join jobs j on j.id = p.job_id and j.status = 'completed'
    where s.batch_id = p_batch and s.begun_at is null and s.stopped_code is null)
$$;

-- Ends a batch when none of its jobs is open and no step is due, and owes its webhooks in the same transaction. The lock
-- makes the jobs of a batch that end at the same moment take turns, so that the last one finds all others ended.
create or replace function end_batch_if_done(p_batch uuid) returns void language plpgsql as $$
declare
  v_batch batches;
begin
  select * into v_batch from batches where id = p_batch for update;
  if not found or v_batch.ended_at is not null then return; end if;
  -- A separate statement: it must see what the last holder of the lock committed.
  if exists (select from batch_jobs p join jobs j on j.id = p.job_id where p.batch_id = v_batch.id
    and j.status in ('pending', 'queued', 'waiting_for_engine', 'processing')) then return; end if;
  if has_step_due(v_batch.id) then return; end if;
  update batches set ended_at = clock_timestamp() where id = v_batch.id;
  -- The id is made of batch, round and receiver, as that of a job's delivery is in server/deliveries/ledger.ts.
  insert into deliveries (id, batch_id, owner_id, channel, target, event)
  select overlay(overlay(md5(concat_ws('|', v_batch.id, v_batch.round, 'webhook', receiver.target, 'batch.completed'))
      placing '8' from 13 for 1) placing '8' from 17 for 1)::uuid,
    v_batch.id, v_batch.owner_id, 'webhook', receiver.target, 'batch.completed'
  from (select e.id::text as target from webhook_endpoints e
      where e.owner_id = v_batch.owner_id and e.is_enabled and e.url is not null
    union select v_batch.webhook_url where v_batch.webhook_url is not null) receiver
  on conflict do nothing;
end $$;

create or replace function end_batch() returns trigger language plpgsql as $$
begin
  if current_setting('atelier.is_loading', true) = 'on' then return null; end if;
  perform end_batch_if_done(p.batch_id) from batch_jobs p where p.job_id = new.id;
  return null;
end $$;

-- The lines of a removed job go with it, without the lock on the job that a foreign key takes at each insert.
create or replace function drop_job_logs() returns trigger language plpgsql as $$
begin
  delete from job_logs where job_id in (select id from gone);
  return null;
end $$;

-- Writes the story of a run. Processes of this version hear of each status by hints; the notification is for workers of the
-- version before, which may run beside them during a deployment. A restored backup has its stories, and notifies nobody.
create or replace function note_assistant_run() returns trigger language plpgsql as $$
begin
  if current_setting('atelier.is_loading', true) = 'on' then return null; end if;
  insert into assistant_run_events (run_id, revision, status, node_id, error_code)
    values (new.id, new.revision, new.status, new.node_id, new.error_code);
  perform pg_notify('atelier_assistant', json_build_object('type', 'run', 'id', new.id, 'ownerId', new.owner_id,
    'status', new.status, 'revision', new.revision)::text);
  return null;
end $$;

-- Notifies programs of other authors that listen to this database of each status of a question: docs/clients.md.
create or replace function tell_pipeline_listeners() returns trigger language plpgsql as $$
begin
  if current_setting('atelier.is_loading', true) = 'on' then return null; end if;
  perform pg_notify('pipeline_events',
    json_build_object('id', new.id, 'status', upper(new.status), 'operation', tg_op)::text);
  return null;
end $$;

-- The vector of a row that is deleted, changed, given to another user or recalled no more goes with it, whoever does it.
create or replace function drop_deleted_vectors() returns trigger language plpgsql as $$
begin
  delete from recall_vectors where id in (select id from gone);
  return null;
end $$;

create or replace function drop_old_vector() returns trigger language plpgsql as $$
begin
  delete from recall_vectors where id = old.id;
  return null;
end $$;

-- The account of the workers belongs to no person: it has no password, no session and no API key. A CHECK sees one table
-- only, so triggers keep the rule. The lock on the user's row settles a new password beside a change of the role.
create or replace function forbid_service_sign_in() returns trigger language plpgsql as $$
begin
  -- A backup from before may hold such a row; without a session it lets nobody in.
  if tg_table_name = 'credentials' and current_setting('atelier.is_loading', true) = 'on' then
    return new;
  end if;
  perform from users u where u.id = to_jsonb(new) ->> tg_argv[0] for share;
  if exists (
    select from users u
    where u.id = to_jsonb(new) ->> tg_argv[0] and 'service' = any (string_to_array(u.role, ','))
  ) then
    raise exception 'the account of the workers cannot sign in'
      using errcode = 'check_violation', constraint = 'service_cannot_sign_in';
  end if;
  return new;
end $$;

create or replace function forbid_service_with_sign_in() returns trigger language plpgsql as $$
begin
  if 'service' = any (string_to_array(new.role, ',')) and (
    exists (select from credentials c where c.user_id = new.id)
    or exists (select from sessions s where s.user_id = new.id)
    or exists (select from api_keys k where k.reference_id = new.id)
  ) then
    raise exception 'an account that can sign in is not the account of the workers'
      using errcode = 'check_violation', constraint = 'service_cannot_sign_in';
  end if;
  return new;
end $$;

-- A new title or description: the search text is filled again, and the vector made again.
create or replace function forget_search_text() returns trigger language plpgsql as $$
begin
  new.search_text := null;
  new.search_key := null;
  delete from recall_vectors where id = old.id;
  return new;
end
$$;

-- Whether a job turns or mirrors a picture and cuts nothing off: what it makes is the same picture, unless that one was deleted meanwhile. The
-- result of an ephemeral job goes with the job, so it gets nothing that would keep it.
create or replace function only_turns(p_job uuid) returns boolean language sql stable as $$
  select exists (
    select from jobs
    join job_inputs link on link.job_id = jobs.id and link.role = 'image'
    join images source on source.id = link.image_id and source.deleted_at is null
    where jobs.id = p_job and jobs.kind = 'crop' and jobs.retention = 'keep' and not jobs.params ?| array['rect', 'shape']
      and coalesce((jobs.params ->> 'angle')::float8, 0) = 0)
$$;

-- Puts a result on the stack of the picture that it was made of, else on that of its batch. A picture that was only turned stands where it
-- stood before, with its marks. A restored backup has its stacks.
create or replace function put_on_stack() returns trigger language plpgsql as $$
declare
  v_source images;
begin
  if new.stack_id is not null or current_setting('atelier.is_loading', true) = 'on' then return new; end if;
  select source.* into v_source
  from job_inputs link join images source on source.id = link.image_id
  where link.job_id = new.job_id and link.role = 'image' limit 1;
  if not found then
    select batch_id into new.stack_id from batch_jobs where job_id = new.job_id;
    return new;
  end if;
  new.stack_id := coalesce(v_source.stack_id, v_source.id);
  if only_turns(new.job_id) then
    new.title := v_source.title;
    new.description := v_source.description;
    new.described_by := v_source.described_by;
    new.rating := v_source.rating;
    new.starred := v_source.starred;
    new.added_at := new.created_at;
    new.created_at := v_source.created_at;
    new.undated_at := v_source.undated_at;
    new.topped_at := case when v_source.topped_at is not null then clock_timestamp() end;
  end if;
  return new;
end $$;

-- What `put_on_stack` cannot do, as it runs before the picture is there: tags and boards of a picture that was only turned. The boards are
-- locked as by `addToBoard`: a sharing that ends comes before, or takes the turned picture off as well. On a board of another person the
-- owner must still be allowed to put pictures, as in `isSharedWith`.
create or replace function keep_places() returns trigger language plpgsql as $$
begin
  if current_setting('atelier.is_loading', true) = 'on' or not only_turns(new.job_id) then return null; end if;
  insert into image_tags (tag_id, image_id)
  select had.tag_id, new.id from job_inputs link join image_tags had on had.image_id = link.image_id
  where link.job_id = new.job_id and link.role = 'image'
  on conflict do nothing;
  perform from boards where id in (
    select had.board_id from job_inputs link join board_images had on had.image_id = link.image_id
    where link.job_id = new.job_id and link.role = 'image')
  order by id for update;
  insert into board_images (board_id, image_id, added_at)
  select had.board_id, new.id, had.added_at
  from job_inputs link join board_images had on had.image_id = link.image_id join boards on boards.id = had.board_id
  where link.job_id = new.job_id and link.role = 'image' and (boards.owner_id = new.owner_id or boards.removed_at is null
    and exists (select from board_members m where m.board_id = boards.id and m.user_id = new.owner_id and m."right" = 'add')
    and not exists (select from users u
      where u.id = boards.owner_id and u.banned and (u.ban_expires is null or u.ban_expires > now())))
  on conflict do nothing;
  return null;
end $$;

-- Each new picture waits to be compared with the others of its owner. A restored backup has its rows, or gets them by a duty.
create or replace function await_likeness() returns trigger language plpgsql as $$
begin
  if current_setting('atelier.is_loading', true) is distinct from 'on' then
    insert into likenesses (image_id, owner_id) values (new.id, new.owner_id) on conflict do nothing;
  end if;
  return null;
end $$;

-- The trigger of audit_entries. No code path of the studio, and no slip in one, changes or removes an entry: the sweep names the time before
-- which entries may go, and whatever it names, one of the last 30 days stays. A restore of a backup fills the empty table of its target.
create or replace function keep_audit_entries() returns trigger language plpgsql as $$
declare
  v_before timestamptz := nullif(current_setting('atelier.audit_before', true), '')::timestamptz;
begin
  if tg_op = 'DELETE' and (
    current_setting('atelier.is_loading', true) = 'on'
    or (old.at < v_before and old.at < clock_timestamp() - interval '30 days')
  ) then
    return old;
  end if;
  raise exception 'entries of the audit log are neither changed nor removed'
    using errcode = 'check_violation', constraint = 'audit_entries_append_only';
end $$;

-- Notes the stacks of which another picture may be the newest now. A restored backup has its notes.
create or replace function note_stack_change() returns trigger language plpgsql as $$
begin
  if current_setting('atelier.is_loading', true) = 'on' then return null; end if;
  if tg_op <> 'INSERT' then
    insert into stack_changes (owner_id, stack_id) values (old.owner_id, coalesce(old.stack_id, old.id));
  end if;
  if tg_op = 'INSERT' or tg_op = 'UPDATE'
    and (new.owner_id, coalesce(new.stack_id, new.id)) is distinct from (old.owner_id, coalesce(old.stack_id, old.id)) then
    insert into stack_changes (owner_id, stack_id) values (new.owner_id, coalesce(new.stack_id, new.id));
  end if;
  return null;
end $$;
