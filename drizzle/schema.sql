-- The schema that the migrations make, read from the catalog of a database. Do not edit it: vitest -u of the test
-- testing/postgres/schema.test.ts writes it anew.

create table api_keys (
  id text not null,
  config_id text default 'default'::text not null,
  name text,
  start text,
  prefix text,
  key text not null,
  reference_id text not null,
  refill_interval integer,
  refill_amount integer,
  last_refill_at timestamp with time zone,
  enabled boolean default true,
  rate_limit_enabled boolean default true,
  rate_limit_time_window integer,
  rate_limit_max integer,
  request_count integer default 0,
  remaining integer,
  last_request timestamp with time zone,
  expires_at timestamp with time zone,
  permissions text,
  metadata text,
  created_at timestamp with time zone default now() not null,
  updated_at timestamp with time zone default now() not null,
  per_minute integer,
  constraint api_keys_pkey PRIMARY KEY (id),
  constraint api_keys_name_length CHECK (char_length(name) <= 100),
  constraint api_keys_per_minute CHECK (per_minute > 0),
  constraint api_keys_reference_id_users_id_fk FOREIGN KEY (reference_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX api_keys_key ON api_keys USING btree (key);
CREATE INDEX api_keys_reference ON api_keys USING btree (reference_id);
CREATE TRIGGER service_cannot_sign_in BEFORE INSERT OR UPDATE OF reference_id ON api_keys FOR EACH ROW EXECUTE FUNCTION forbid_service_sign_in('reference_id');

create table assistant_conversations (
  id uuid not null,
  owner_id text not null,
  title text,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  last_at timestamp(3) with time zone default clock_timestamp() not null,
  pinned_at timestamp(3) with time zone,
  constraint assistant_conversations_pkey PRIMARY KEY (id),
  constraint assistant_conversations_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX assistant_conversations_owner ON assistant_conversations USING btree (owner_id, last_at);
CREATE INDEX assistant_conversations_words ON assistant_conversations USING gin (recall_words(recall_terms(owner_id, title)));

create table assistant_messages (
  id uuid not null,
  conversation_id uuid not null,
  owner_id text not null,
  role text not null,
  speaker text,
  text text not null,
  is_recalled boolean default true not null,
  at timestamp(3) with time zone default clock_timestamp() not null,
  run_id uuid,
  archived_at timestamp(3) with time zone,
  terms text[] generated always as (recall_terms(owner_id, text)) stored not null,
  image_ids uuid[] default '{}'::uuid[] not null,
  images_to text,
  constraint assistant_messages_pkey PRIMARY KEY (id),
  constraint assistant_messages_conversation_id_assistant_conversations_id_f FOREIGN KEY (conversation_id) REFERENCES assistant_conversations(id) ON DELETE CASCADE,
  constraint assistant_messages_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX assistant_messages_conversation ON assistant_messages USING btree (conversation_id, at);
CREATE INDEX assistant_messages_owner ON assistant_messages USING btree (owner_id, at);
CREATE INDEX assistant_messages_speaker ON assistant_messages USING btree (owner_id, lower(speaker)) WHERE speaker IS NOT NULL;
CREATE INDEX assistant_messages_terms ON assistant_messages USING gin (terms) WITH (fastupdate='false');
CREATE INDEX assistant_messages_unarchived ON assistant_messages USING btree (at) WHERE archived_at IS NULL;
CREATE INDEX assistant_messages_words ON assistant_messages USING gin (recall_words(terms)) WITH (fastupdate='false');
CREATE TRIGGER assistant_messages_changed AFTER UPDATE OF text, is_recalled, owner_id ON assistant_messages FOR EACH ROW WHEN (old.text <> new.text OR old.owner_id <> new.owner_id OR old.is_recalled AND NOT new.is_recalled) EXECUTE FUNCTION drop_old_vector();
CREATE TRIGGER assistant_messages_deleted AFTER DELETE ON assistant_messages REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION drop_deleted_vectors();

create table assistant_run_events (
  run_id uuid not null,
  revision integer not null,
  status text not null,
  at timestamp(3) with time zone default clock_timestamp() not null,
  node_id uuid,
  error_code text,
  constraint assistant_run_events_run_id_revision_pk PRIMARY KEY (run_id, revision),
  constraint assistant_run_events_run_id_assistant_runs_id_fk FOREIGN KEY (run_id) REFERENCES assistant_runs(id) ON DELETE CASCADE
);
CREATE INDEX assistant_run_events_age ON assistant_run_events USING btree (at);

create table assistant_runs (
  id uuid not null,
  owner_id text not null,
  conversation_id uuid not null,
  question_id uuid not null,
  answer_id uuid,
  status text not null,
  revision integer default 1 not null,
  attempt integer default 0 not null,
  losses integer default 0 not null,
  node_id uuid,
  stop_requested_at timestamp(3) with time zone,
  analysis jsonb,
  context jsonb,
  answer text default ''::text not null,
  parts jsonb default '[]'::jsonb not null,
  error_code text,
  error_message text,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  ended_at timestamp(3) with time zone,
  thinking text default ''::text not null,
  api_key_id text,
  constraint assistant_runs_pkey PRIMARY KEY (id),
  constraint assistant_runs_conversation_id_assistant_conversations_id_fk FOREIGN KEY (conversation_id) REFERENCES assistant_conversations(id) ON DELETE CASCADE,
  constraint assistant_runs_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint assistant_runs_question_id_assistant_messages_id_fk FOREIGN KEY (question_id) REFERENCES assistant_messages(id) ON DELETE CASCADE
);
CREATE INDEX assistant_runs_conversation ON assistant_runs USING btree (conversation_id, created_at);
CREATE INDEX assistant_runs_ended ON assistant_runs USING btree (ended_at);
CREATE UNIQUE INDEX assistant_runs_one_open ON assistant_runs USING btree (conversation_id) WHERE status <> ALL (ARRAY['completed'::text, 'failed'::text]);
CREATE INDEX assistant_runs_open ON assistant_runs USING btree (created_at) WHERE status <> ALL (ARRAY['completed'::text, 'failed'::text]);
CREATE INDEX assistant_runs_owner ON assistant_runs USING btree (owner_id, created_at);
CREATE TRIGGER assistant_runs_note AFTER INSERT OR UPDATE OF status ON assistant_runs FOR EACH ROW EXECUTE FUNCTION note_assistant_run();
CREATE TRIGGER assistant_runs_tell AFTER INSERT OR UPDATE OF status ON assistant_runs FOR EACH ROW EXECUTE FUNCTION tell_pipeline_listeners();

create table assistant_settings (
  user_id text not null,
  is_memory_paused boolean default false not null,
  time_zone text,
  describes_pictures boolean default true not null,
  constraint assistant_settings_pkey PRIMARY KEY (user_id),
  constraint assistant_settings_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);

create table audit_entries (
  id uuid not null,
  at timestamp(3) with time zone default clock_timestamp() not null,
  kind text not null,
  outcome text default 'ok'::text not null,
  actor text not null,
  actor_id text,
  key_id text,
  person_id text,
  object_id text,
  address text,
  request_id text,
  details jsonb default '{}'::jsonb not null,
  constraint audit_entries_pkey PRIMARY KEY (id),
  constraint audit_entries_details_length CHECK (char_length(details::text) <= 4000),
  constraint audit_entries_kind_length CHECK (char_length(kind) >= 1 AND char_length(kind) <= 80)
);
CREATE INDEX audit_entries_actor ON audit_entries USING btree (actor_id, id);
CREATE INDEX audit_entries_at ON audit_entries USING btree (at);
CREATE INDEX audit_entries_kind ON audit_entries USING btree (kind text_pattern_ops, id);
CREATE INDEX audit_entries_person ON audit_entries USING btree (person_id, id);
CREATE TRIGGER audit_entries_append_only BEFORE DELETE OR UPDATE ON audit_entries FOR EACH ROW EXECUTE FUNCTION keep_audit_entries();
CREATE TRIGGER audit_entries_not_truncated BEFORE TRUNCATE ON audit_entries FOR EACH STATEMENT EXECUTE FUNCTION keep_audit_entries();

create table batch_jobs (
  batch_id uuid not null,
  "position" smallint not null,
  job_id uuid not null,
  constraint batch_jobs_batch_id_position_pk PRIMARY KEY (batch_id, "position"),
  constraint batch_jobs_batch_id_batches_id_fk FOREIGN KEY (batch_id) REFERENCES batches(id) ON DELETE CASCADE,
  constraint batch_jobs_job_id_jobs_id_fk FOREIGN KEY (job_id) REFERENCES jobs(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX batch_jobs_job ON batch_jobs USING btree (job_id);

create table batch_steps (
  batch_id uuid not null,
  "position" smallint not null,
  number smallint not null,
  request jsonb not null,
  role text not null,
  max_price_usd double precision,
  source_job_id uuid,
  begun_at timestamp(3) with time zone,
  stopped_code text,
  stopped_message text,
  template jsonb,
  constraint batch_steps_batch_id_position_number_pk PRIMARY KEY (batch_id, "position", number),
  constraint batch_steps_batch_id_batches_id_fk FOREIGN KEY (batch_id) REFERENCES batches(id) ON DELETE CASCADE,
  constraint batch_steps_source_job_id_jobs_id_fk FOREIGN KEY (source_job_id) REFERENCES jobs(id) ON DELETE SET NULL
);
CREATE INDEX batch_steps_left ON batch_steps USING btree (batch_id, "position", number) WHERE begun_at IS NULL AND stopped_code IS NULL;
CREATE INDEX batch_steps_source ON batch_steps USING btree (source_job_id);

create table batches (
  id uuid not null,
  owner_id text not null,
  title text,
  axes jsonb,
  size smallint not null,
  webhook_url text,
  round integer default 1 not null,
  created_at timestamp(3) with time zone default now() not null,
  ended_at timestamp(3) with time zone,
  max_price_usd double precision,
  deleted_at timestamp(3) with time zone,
  constraint batches_pkey PRIMARY KEY (id),
  constraint batches_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX batches_owner ON batches USING btree (owner_id, id);

create table board_images (
  board_id uuid not null,
  image_id uuid not null,
  added_at timestamp(3) with time zone default now() not null,
  constraint board_images_board_id_image_id_pk PRIMARY KEY (board_id, image_id),
  constraint board_images_board_id_boards_id_fk FOREIGN KEY (board_id) REFERENCES boards(id) ON DELETE CASCADE,
  constraint board_images_image_id_images_id_fk FOREIGN KEY (image_id) REFERENCES images(id) ON DELETE CASCADE
);
CREATE INDEX board_images_image ON board_images USING btree (image_id);
CREATE INDEX board_images_order ON board_images USING btree (board_id, added_at, image_id);

create table board_members (
  board_id uuid not null,
  user_id text not null,
  "right" text not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint board_members_board_id_user_id_pk PRIMARY KEY (board_id, user_id),
  constraint board_members_board_id_boards_id_fk FOREIGN KEY (board_id) REFERENCES boards(id) ON DELETE CASCADE,
  constraint board_members_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX board_members_user ON board_members USING btree (user_id);

create table boards (
  id uuid not null,
  owner_id text not null,
  name text not null,
  key text not null,
  search text,
  removed_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default now() not null,
  place integer,
  constraint boards_pkey PRIMARY KEY (id),
  constraint boards_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX boards_owner ON boards USING btree (owner_id, key);

create table client_files (
  owner_id text not null,
  user_name text not null,
  file_name text not null,
  image_id uuid not null,
  created_at timestamp with time zone default now() not null,
  listed_at timestamp with time zone,
  constraint client_files_owner_id_user_name_file_name_pk PRIMARY KEY (owner_id, user_name, file_name),
  constraint client_files_file_name_length CHECK (char_length(file_name) <= 300),
  constraint client_files_user_name_length CHECK (char_length(user_name) <= 100),
  constraint client_files_image_id_images_id_fk FOREIGN KEY (image_id) REFERENCES images(id) ON DELETE CASCADE,
  constraint client_files_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX client_files_image ON client_files USING btree (image_id);

create table client_users (
  user_id text not null,
  name text not null,
  created_at timestamp with time zone default now() not null,
  constraint client_users_pkey PRIMARY KEY (user_id),
  constraint client_users_name_length CHECK (char_length(name) <= 100),
  constraint client_users_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint client_users_name_unique UNIQUE (name)
);

create table clock_stretches (
  id uuid default gen_random_uuid() not null,
  began_at timestamp(3) with time zone not null,
  seen_at timestamp(3) with time zone not null,
  missed_ms bigint not null,
  constraint clock_stretches_pkey PRIMARY KEY (id)
);

create table consents (
  id uuid not null,
  owner_id text not null,
  stored_sha256 text not null,
  statement text not null,
  created_at timestamp with time zone default now() not null,
  constraint consents_pkey PRIMARY KEY (id),
  constraint consents_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX consents_photo ON consents USING btree (owner_id, stored_sha256, statement);

create table credentials (
  id text not null,
  account_id text not null,
  provider_id text not null,
  user_id text not null,
  access_token text,
  refresh_token text,
  id_token text,
  access_token_expires_at timestamp with time zone,
  refresh_token_expires_at timestamp with time zone,
  scope text,
  password text,
  created_at timestamp with time zone default now() not null,
  updated_at timestamp with time zone default now() not null,
  constraint credentials_pkey PRIMARY KEY (id),
  constraint credentials_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX credentials_user ON credentials USING btree (user_id);
CREATE UNIQUE INDEX credentials_way ON credentials USING btree (provider_id, account_id);
CREATE TRIGGER service_cannot_sign_in BEFORE INSERT OR UPDATE OF user_id ON credentials FOR EACH ROW EXECUTE FUNCTION forbid_service_sign_in('user_id');

create table daily_spend (
  day date not null,
  owner_id text,
  usd double precision not null,
  api_key_id text,
  constraint daily_spend_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE SET NULL
);
CREATE INDEX daily_spend_api_key ON daily_spend USING btree (api_key_id, day) WHERE api_key_id IS NOT NULL;
CREATE INDEX daily_spend_day ON daily_spend USING btree (day);
CREATE INDEX daily_spend_owner ON daily_spend USING btree (owner_id);

create table deliveries (
  id uuid not null,
  job_id uuid,
  owner_id text not null,
  channel text not null,
  target text not null,
  event text not null,
  attempts integer default 0 not null,
  ordered_at integer default 0 not null,
  next_attempt_at timestamp with time zone default clock_timestamp() not null,
  delivering_at timestamp(3) with time zone,
  lock_token uuid,
  delivered_at timestamp(3) with time zone,
  failed_at timestamp(3) with time zone,
  last_error text,
  external_id text,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  batch_id uuid,
  notice jsonb,
  constraint deliveries_pkey PRIMARY KEY (id),
  constraint deliveries_notice CHECK ((notice IS NOT NULL) = (event = 'account.changed'::text)),
  constraint deliveries_batch_id_batches_id_fk FOREIGN KEY (batch_id) REFERENCES batches(id) ON DELETE CASCADE,
  constraint deliveries_job_id_jobs_id_fk FOREIGN KEY (job_id) REFERENCES jobs(id) ON DELETE CASCADE,
  constraint deliveries_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX deliveries_age ON deliveries USING btree (created_at);
CREATE INDEX deliveries_batch ON deliveries USING btree (batch_id) WHERE batch_id IS NOT NULL;
CREATE INDEX deliveries_due ON deliveries USING btree (next_attempt_at) WHERE delivered_at IS NULL AND failed_at IS NULL;
CREATE UNIQUE INDEX deliveries_once ON deliveries USING btree (job_id, channel, target, event);
CREATE INDEX deliveries_owner ON deliveries USING btree (owner_id, id);

create table delivery_attempts (
  delivery_id uuid not null,
  number integer not null,
  started_at timestamp(3) with time zone default clock_timestamp() not null,
  ended_at timestamp(3) with time zone,
  is_delivered boolean default false not null,
  status integer,
  error text,
  constraint delivery_attempts_delivery_id_number_pk PRIMARY KEY (delivery_id, number),
  constraint delivery_attempts_delivery_id_deliveries_id_fk FOREIGN KEY (delivery_id) REFERENCES deliveries(id) ON DELETE CASCADE
);

create table description_tries (
  image_id uuid not null,
  model text not null,
  tries smallint not null,
  due_at timestamp with time zone not null,
  constraint description_tries_pkey PRIMARY KEY (image_id),
  constraint description_tries_image_id_images_id_fk FOREIGN KEY (image_id) REFERENCES images(id) ON DELETE CASCADE
);

create table direct_uploads (
  id uuid not null,
  owner_id text not null,
  role text not null,
  name text not null,
  mime text not null,
  size_bytes integer not null,
  sha256 text,
  image_id uuid,
  created_at timestamp with time zone default now() not null,
  given_up_at timestamp with time zone,
  constraint direct_uploads_pkey PRIMARY KEY (id),
  constraint direct_uploads_name_length CHECK (char_length(name) <= 300),
  constraint direct_uploads_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX direct_uploads_created ON direct_uploads USING btree (created_at);
CREATE INDEX direct_uploads_owner ON direct_uploads USING btree (owner_id);

create table duplicate_pairs (
  image_id uuid not null,
  twin_id uuid not null,
  owner_id text not null,
  dismissed_at timestamp(3) with time zone,
  is_found boolean default true not null,
  constraint duplicate_pairs_image_id_twin_id_pk PRIMARY KEY (image_id, twin_id),
  constraint duplicate_pairs_image_id_images_id_fk FOREIGN KEY (image_id) REFERENCES images(id) ON DELETE CASCADE,
  constraint duplicate_pairs_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint duplicate_pairs_twin_id_images_id_fk FOREIGN KEY (twin_id) REFERENCES images(id) ON DELETE CASCADE
);
CREATE INDEX duplicate_pairs_owner ON duplicate_pairs USING btree (owner_id) WHERE dismissed_at IS NULL;
CREATE INDEX duplicate_pairs_twin ON duplicate_pairs USING btree (twin_id);

create table edit_masks (
  edit_id uuid not null,
  image_id uuid not null,
  constraint edit_masks_edit_id_image_id_pk PRIMARY KEY (edit_id, image_id),
  constraint edit_masks_edit_id_edits_id_fk FOREIGN KEY (edit_id) REFERENCES edits(id) ON DELETE CASCADE,
  constraint edit_masks_image_id_images_id_fk FOREIGN KEY (image_id) REFERENCES images(id) ON DELETE CASCADE
);
CREATE INDEX edit_masks_image ON edit_masks USING btree (image_id);

create table edits (
  id uuid not null,
  owner_id text not null,
  image_id uuid not null,
  version_ids uuid[] not null,
  state jsonb not null,
  revision integer default 1 not null,
  writer text not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  constraint edits_pkey PRIMARY KEY (id),
  constraint edits_image_id_images_id_fk FOREIGN KEY (image_id) REFERENCES images(id) ON DELETE CASCADE,
  constraint edits_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX edits_image ON edits USING btree (image_id);
CREATE INDEX edits_owner ON edits USING btree (owner_id, updated_at, id);

create table engine_servers (
  node_id uuid not null,
  url text not null,
  engine text not null,
  label text not null,
  state text not null,
  device text,
  device_name text,
  vram_total_bytes bigint,
  vram_free_bytes bigint,
  version text,
  needs text[] not null,
  missing jsonb not null,
  queue_length integer default 0 not null,
  running_job_id uuid,
  last_error text,
  sources text[] not null,
  probed_at timestamp with time zone,
  changed_at timestamp with time zone default now() not null,
  tight_needs text[] default '{}'::text[] not null,
  models text[] default '{}'::text[] not null,
  loras text[] default '{}'::text[] not null,
  lists jsonb default '{}'::jsonb not null,
  constraint engine_servers_node_id_url_pk PRIMARY KEY (node_id, url),
  constraint engine_servers_node_id_nodes_id_fk FOREIGN KEY (node_id) REFERENCES nodes(id) ON DELETE CASCADE
);
CREATE INDEX engine_servers_url ON engine_servers USING btree (url);

create table figure_marks (
  name text not null,
  until timestamp with time zone not null,
  constraint figure_marks_pkey PRIMARY KEY (name)
);

create table idempotency_keys (
  owner_id text not null,
  key text not null,
  request_sha256 text not null,
  job_id uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint idempotency_keys_owner_id_key_pk PRIMARY KEY (owner_id, key),
  constraint idempotency_keys_key_length CHECK (char_length(key) <= 300),
  constraint idempotency_keys_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE
);

create table image_tags (
  tag_id uuid not null,
  image_id uuid not null,
  constraint image_tags_tag_id_image_id_pk PRIMARY KEY (tag_id, image_id),
  constraint image_tags_image_id_images_id_fk FOREIGN KEY (image_id) REFERENCES images(id) ON DELETE CASCADE,
  constraint image_tags_tag_id_tags_id_fk FOREIGN KEY (tag_id) REFERENCES tags(id) ON DELETE CASCADE
);
CREATE INDEX image_tags_image ON image_tags USING btree (image_id);

create table images (
  id uuid not null,
  owner_id text not null,
  role text not null,
  storage_key text not null,
  upload_sha256 text,
  stored_sha256 text not null,
  mime text not null,
  width_px integer not null,
  height_px integer not null,
  size_bytes bigint not null,
  thumbhash text not null,
  job_id uuid,
  title text default ''::text not null,
  starred boolean default false not null,
  created_at timestamp with time zone default now() not null,
  deleted_at timestamp with time zone,
  search_text text,
  stack_id uuid,
  nothing_generated boolean default false not null,
  search_key text,
  rating smallint default 0 not null,
  copy_of_ai boolean default false not null,
  description text default ''::text not null,
  described_by text,
  topped_at timestamp with time zone,
  added_at timestamp with time zone,
  undated_at timestamp with time zone,
  constraint images_pkey PRIMARY KEY (id),
  constraint images_described_by CHECK (described_by = ANY (ARRAY['file'::text, 'model'::text, 'owner'::text])) NOT VALID,
  constraint images_description_length CHECK (char_length(description) <= 2000) NOT VALID,
  constraint images_rating CHECK (rating >= 0 AND rating <= 5),
  constraint images_title_length CHECK (char_length(title) <= 120),
  constraint images_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE RESTRICT,
  constraint images_storage_key_unique UNIQUE (storage_key)
);
CREATE INDEX images_best ON images USING btree (owner_id, rating, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX images_deleted ON images USING btree (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX images_found ON images USING gin (owner_id, search_key gin_trgm_ops) WHERE deleted_at IS NULL;
CREATE INDEX images_gallery ON images USING btree (owner_id, id) WHERE deleted_at IS NULL;
CREATE INDEX images_job ON images USING btree (job_id);
CREATE INDEX images_largest ON images USING btree (owner_id, size_bytes, id) WHERE deleted_at IS NULL;
CREATE INDEX images_longer_side ON images USING btree (owner_id, GREATEST(width_px, height_px)) WHERE deleted_at IS NULL;
CREATE INDEX images_made ON images USING btree (owner_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX images_mark ON images USING btree ("left"(md5(id::text), 8)) WHERE role = 'result'::text;
CREATE INDEX images_rated ON images USING btree (owner_id, rating) WHERE rating > 0 AND deleted_at IS NULL;
CREATE UNIQUE INDEX images_same_bytes ON images USING btree (owner_id, role, upload_sha256) WHERE deleted_at IS NULL;
CREATE INDEX images_stack ON images USING btree (owner_id, COALESCE(stack_id, id), id) WHERE deleted_at IS NULL;
CREATE INDEX images_starred ON images USING btree (owner_id, created_at) WHERE starred AND deleted_at IS NULL;
CREATE INDEX images_trash ON images USING btree (owner_id, created_at, id) WHERE deleted_at IS NOT NULL;
CREATE INDEX images_unfilled_search ON images USING btree (owner_id, id) WHERE search_text IS NULL;
CREATE INDEX images_unkeyed ON images USING btree (owner_id, id) WHERE search_key IS NULL;
CREATE TRIGGER images_await_likeness AFTER INSERT ON images FOR EACH ROW WHEN (new.role <> 'mask'::text) EXECUTE FUNCTION await_likeness();
CREATE TRIGGER images_forget_search_text BEFORE UPDATE OF title, description ON images FOR EACH ROW WHEN (old.title IS DISTINCT FROM new.title OR old.description IS DISTINCT FROM new.description) EXECUTE FUNCTION forget_search_text();
CREATE TRIGGER images_keep_places AFTER INSERT ON images FOR EACH ROW WHEN (new.role = 'result'::text AND new.job_id IS NOT NULL) EXECUTE FUNCTION keep_places();
CREATE TRIGGER images_note_lost_stack AFTER DELETE ON images FOR EACH ROW WHEN (old.deleted_at IS NULL AND old.role <> 'mask'::text) EXECUTE FUNCTION note_stack_change();
CREATE TRIGGER images_note_other_stack AFTER UPDATE OF owner_id, role, stack_id, created_at, deleted_at, topped_at ON images FOR EACH ROW WHEN (old.owner_id IS DISTINCT FROM new.owner_id OR old.role IS DISTINCT FROM new.role OR old.stack_id IS DISTINCT FROM new.stack_id OR old.created_at IS DISTINCT FROM new.created_at OR old.deleted_at IS DISTINCT FROM new.deleted_at OR old.topped_at IS DISTINCT FROM new.topped_at) EXECUTE FUNCTION note_stack_change();
CREATE TRIGGER images_note_stack AFTER INSERT ON images FOR EACH ROW WHEN (new.role <> 'mask'::text) EXECUTE FUNCTION note_stack_change();
CREATE TRIGGER images_put_on_stack BEFORE INSERT ON images FOR EACH ROW WHEN (new.role = 'result'::text AND new.job_id IS NOT NULL) EXECUTE FUNCTION put_on_stack();

create table invitations (
  id text not null,
  token_hash text not null,
  created_by text,
  created_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone not null,
  used_at timestamp with time zone,
  constraint invitations_pkey PRIMARY KEY (id),
  constraint invitations_created_by_users_id_fk FOREIGN KEY (created_by) REFERENCES users(id) ON DELETE SET NULL,
  constraint invitations_token_hash_unique UNIQUE (token_hash)
);

create table job_events (
  job_id uuid not null,
  revision integer not null,
  type text not null,
  status text not null,
  data jsonb default '{}'::jsonb not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint job_events_job_id_revision_pk PRIMARY KEY (job_id, revision),
  constraint job_events_job_id_jobs_id_fk FOREIGN KEY (job_id) REFERENCES jobs(id) ON DELETE CASCADE
);
CREATE INDEX job_events_age ON job_events USING btree (created_at);

create table job_figures (
  at timestamp with time zone not null,
  queue text not null,
  measure text not null,
  bucket smallint default 0 not null,
  count integer not null,
  constraint job_figures_at_queue_measure_bucket_pk PRIMARY KEY (at, queue, measure, bucket)
);

create table job_inputs (
  job_id uuid not null,
  role text not null,
  image_id uuid not null,
  constraint job_inputs_job_id_role_pk PRIMARY KEY (job_id, role),
  constraint job_inputs_image_id_images_id_fk FOREIGN KEY (image_id) REFERENCES images(id) ON DELETE RESTRICT,
  constraint job_inputs_job_id_jobs_id_fk FOREIGN KEY (job_id) REFERENCES jobs(id) ON DELETE CASCADE
);
CREATE INDEX job_inputs_image ON job_inputs USING btree (image_id);

create table job_logs (
  job_id uuid not null,
  number smallint not null,
  level text not null,
  process text not null,
  node_id uuid,
  message text not null,
  data json not null,
  created_at timestamp(3) with time zone not null,
  constraint job_logs_job_id_number_pk PRIMARY KEY (job_id, number),
  constraint job_logs_number CHECK (number >= 1 AND number <= 200)
);
CREATE INDEX job_logs_age ON job_logs USING btree (created_at);

create table job_outputs (
  job_id uuid not null,
  "position" integer not null,
  image_id uuid not null,
  constraint job_outputs_job_id_position_pk PRIMARY KEY (job_id, "position"),
  constraint job_outputs_image_id_images_id_fk FOREIGN KEY (image_id) REFERENCES images(id) ON DELETE CASCADE,
  constraint job_outputs_job_id_jobs_id_fk FOREIGN KEY (job_id) REFERENCES jobs(id) ON DELETE CASCADE
);
CREATE INDEX job_outputs_image ON job_outputs USING btree (image_id);

create table job_webhooks (
  job_id uuid not null,
  url text not null,
  constraint job_webhooks_pkey PRIMARY KEY (job_id),
  constraint job_webhooks_job_id_jobs_id_fk FOREIGN KEY (job_id) REFERENCES jobs(id) ON DELETE CASCADE
);

create table jobs (
  id uuid not null,
  owner_id text not null,
  kind text not null,
  status text not null,
  tier integer not null,
  params jsonb not null,
  queue text not null,
  engine text not null,
  workflow text,
  retention text default 'keep'::text not null,
  revision integer default 1 not null,
  attempt integer default 0 not null,
  charged integer default 0 not null,
  run_alone boolean default false not null,
  ring integer default 0 not null,
  rung_at timestamp(3) with time zone,
  not_before timestamp(3) with time zone,
  node_id uuid,
  progress real default 0 not null,
  stage text,
  error_code text,
  error_message text,
  error_details jsonb,
  facts jsonb,
  retry_of uuid,
  retry_number integer,
  cancel_requested_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default now() not null,
  queued_at timestamp(3) with time zone,
  claimed_at timestamp(3) with time zone,
  started_at timestamp(3) with time zone,
  ended_at timestamp(3) with time zone,
  answered_at timestamp(3) with time zone,
  acked_at timestamp(3) with time zone,
  need text not null,
  placement jsonb,
  estimate jsonb,
  size_class smallint default 0 not null,
  owner_order double precision default (EXTRACT(epoch FROM clock_timestamp()) * (1000)::numeric) not null,
  input_count smallint default 0 not null,
  server text,
  external_id text,
  avoid text[] default '{}'::text[] not null,
  once boolean default false not null,
  max_retries smallint,
  session_id text,
  metadata jsonb,
  request_id text,
  model text,
  own_only boolean default false not null,
  provider_attempt_id uuid,
  agreed jsonb,
  template jsonb,
  traceparent text,
  api_key_id text,
  constraint jobs_pkey PRIMARY KEY (id),
  constraint jobs_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE RESTRICT
);
CREATE INDEX jobs_claimed ON jobs USING btree (node_id) WHERE status = ANY (ARRAY['waiting_for_engine'::text, 'processing'::text]);
CREATE INDEX jobs_ended ON jobs USING btree (ended_at);
CREATE INDEX jobs_ephemeral ON jobs USING btree (ended_at) WHERE retention = 'ephemeral'::text;
CREATE INDEX jobs_line ON jobs USING btree (queue, tier, owner_id, owner_order, id) WHERE status = 'pending'::text;
CREATE INDEX jobs_line_tried ON jobs USING btree (queue, id) WHERE status = 'pending'::text AND attempt > 0;
CREATE INDEX jobs_open_by_owner ON jobs USING btree (owner_id, id) WHERE status = ANY (ARRAY['pending'::text, 'queued'::text, 'waiting_for_engine'::text, 'processing'::text]);
CREATE INDEX jobs_owner ON jobs USING btree (owner_id, id);
CREATE INDEX jobs_owner_ended ON jobs USING btree (owner_id, ended_at);
CREATE UNIQUE INDEX jobs_retry ON jobs USING btree (retry_of, retry_number);
CREATE INDEX jobs_runs ON jobs USING btree (need, ended_at) WHERE status = 'completed'::text;
CREATE INDEX jobs_session ON jobs USING btree (session_id, id) WHERE session_id IS NOT NULL;
CREATE INDEX jobs_tasks ON jobs USING btree (owner_id, session_id) WHERE starts_with(session_id, 'mcp:task:'::text);
CREATE INDEX jobs_unfinished ON jobs USING btree (status, id) WHERE status = ANY (ARRAY['failed'::text, 'cancelled'::text]);
CREATE INDEX jobs_window ON jobs USING btree (queue, queued_at) WHERE status = 'queued'::text;
CREATE TRIGGER jobs_drop_logs AFTER DELETE ON jobs REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION drop_job_logs();
CREATE TRIGGER jobs_end_batch AFTER UPDATE OF status ON jobs FOR EACH ROW WHEN (old.status IS DISTINCT FROM new.status AND (new.status = ANY (ARRAY['completed'::text, 'failed'::text, 'cancelled'::text]))) EXECUTE FUNCTION end_batch();

create table key_caps (
  key_id text not null,
  user_id text not null,
  usd double precision not null,
  period text not null,
  constraint key_caps_pkey PRIMARY KEY (key_id),
  constraint key_caps_period CHECK (period = ANY (ARRAY['day'::text, 'week'::text, 'month'::text, 'never'::text])),
  constraint key_caps_usd CHECK (usd >= 0::double precision),
  constraint key_caps_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX key_caps_user ON key_caps USING btree (user_id);

create table likenesses (
  image_id uuid not null,
  owner_id text not null,
  hash bigint,
  compared_at timestamp(3) with time zone,
  constraint likenesses_pkey PRIMARY KEY (image_id),
  constraint likenesses_image_id_images_id_fk FOREIGN KEY (image_id) REFERENCES images(id) ON DELETE CASCADE,
  constraint likenesses_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX likenesses_open ON likenesses USING btree (image_id) WHERE compared_at IS NULL;
CREATE INDEX likenesses_open_owner ON likenesses USING btree (owner_id, image_id) WHERE compared_at IS NULL;
CREATE INDEX likenesses_part_1 ON likenesses USING btree (owner_id, ((hash >> 48) & 65535::bigint));
CREATE INDEX likenesses_part_2 ON likenesses USING btree (owner_id, ((hash >> 32) & 65535::bigint));
CREATE INDEX likenesses_part_3 ON likenesses USING btree (owner_id, ((hash >> 16) & 65535::bigint));
CREATE INDEX likenesses_part_4 ON likenesses USING btree (owner_id, (hash & 65535::bigint));

create table link_images (
  link_id uuid not null,
  "position" smallint not null,
  image_id uuid not null,
  constraint link_images_link_id_position_pk PRIMARY KEY (link_id, "position"),
  constraint link_images_image_id_images_id_fk FOREIGN KEY (image_id) REFERENCES images(id) ON DELETE CASCADE,
  constraint link_images_link_id_links_id_fk FOREIGN KEY (link_id) REFERENCES links(id) ON DELETE CASCADE
);
CREATE INDEX link_images_image ON link_images USING btree (image_id);

create table links (
  id uuid not null,
  owner_id text not null,
  token_hash text not null,
  batch_id uuid,
  title text default ''::text not null,
  ends_at timestamp(3) with time zone,
  password_hash text,
  may_download boolean default false not null,
  views integer default 0 not null,
  created_at timestamp(3) with time zone default now() not null,
  revoked_at timestamp(3) with time zone,
  board_id uuid,
  constraint links_pkey PRIMARY KEY (id),
  constraint links_batch_id_batches_id_fk FOREIGN KEY (batch_id) REFERENCES batches(id) ON DELETE CASCADE,
  constraint links_board_id_boards_id_fk FOREIGN KEY (board_id) REFERENCES boards(id) ON DELETE CASCADE,
  constraint links_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX links_batch ON links USING btree (batch_id);
CREATE INDEX links_board ON links USING btree (board_id);
CREATE INDEX links_owner ON links USING btree (owner_id, id);
CREATE UNIQUE INDEX links_token ON links USING btree (token_hash);

create table memories (
  id uuid not null,
  owner_id text not null,
  conversation_id uuid,
  summary text not null,
  tags text[] not null,
  period_start timestamp(3) with time zone not null,
  period_end timestamp(3) with time zone not null,
  source_ids uuid[] not null,
  origin text not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  updated_at timestamp(3) with time zone default clock_timestamp() not null,
  terms text[] generated always as (recall_terms(owner_id, summary, tags)) stored not null,
  constraint memories_pkey PRIMARY KEY (id),
  constraint memories_conversation_id_assistant_conversations_id_fk FOREIGN KEY (conversation_id) REFERENCES assistant_conversations(id) ON DELETE SET NULL,
  constraint memories_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX memories_owner ON memories USING btree (owner_id, period_end);
CREATE INDEX memories_terms ON memories USING gin (terms) WITH (fastupdate='false');
CREATE TRIGGER memories_changed AFTER UPDATE OF summary, owner_id ON memories FOR EACH ROW WHEN (old.summary <> new.summary OR old.owner_id <> new.owner_id) EXECUTE FUNCTION drop_old_vector();
CREATE TRIGGER memories_deleted AFTER DELETE ON memories REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION drop_deleted_vectors();

create table model_calls (
  id uuid not null,
  run_id uuid,
  owner_id text,
  stage text not null,
  try integer not null,
  model text not null,
  prompt_version integer,
  input_tokens integer,
  output_tokens integer,
  expected_usd double precision not null,
  cost_usd double precision,
  error_class text,
  started_at timestamp(3) with time zone default clock_timestamp() not null,
  first_text_at timestamp(3) with time zone,
  ended_at timestamp(3) with time zone,
  api_key_id text,
  constraint model_calls_pkey PRIMARY KEY (id),
  constraint model_calls_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE SET NULL,
  constraint model_calls_run_id_assistant_runs_id_fk FOREIGN KEY (run_id) REFERENCES assistant_runs(id) ON DELETE SET NULL
);
CREATE INDEX model_calls_age ON model_calls USING btree (started_at);
CREATE INDEX model_calls_api_key ON model_calls USING btree (api_key_id, started_at) WHERE api_key_id IS NOT NULL;
CREATE INDEX model_calls_owner ON model_calls USING btree (owner_id, started_at);
CREATE INDEX model_calls_run ON model_calls USING btree (run_id);

create table model_chains (
  model text not null,
  providers text[] not null,
  updated_at timestamp(3) with time zone default now() not null,
  constraint model_chains_pkey PRIMARY KEY (model)
);

create table model_notes (
  model text not null,
  address text not null,
  refused text[] default '{}'::text[] not null,
  read_tokens integer,
  sent_tokens integer,
  noted_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint model_notes_model_address_pk PRIMARY KEY (model, address)
);

create table month_counts (
  owner_id text not null,
  month date not null,
  pictures integer not null,
  constraint month_counts_owner_id_month_pk PRIMARY KEY (owner_id, month),
  constraint month_counts_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE
);

create table node_queues (
  node_id uuid not null,
  queue text not null,
  slots integer not null,
  needs text[] not null,
  seen_needs text[] not null,
  needs_seen_at jsonb default '{}'::jsonb not null,
  constraint node_queues_node_id_queue_pk PRIMARY KEY (node_id, queue),
  constraint node_queues_node_id_nodes_id_fk FOREIGN KEY (node_id) REFERENCES nodes(id) ON DELETE CASCADE
);
CREATE INDEX node_queues_queue ON node_queues USING btree (queue);

create table node_workflows (
  node_id uuid not null,
  name text not null,
  hash text not null,
  manifest jsonb not null,
  graph jsonb not null,
  constraint node_workflows_node_id_name_pk PRIMARY KEY (node_id, name),
  constraint node_workflows_node_id_nodes_id_fk FOREIGN KEY (node_id) REFERENCES nodes(id) ON DELETE CASCADE
);

create table nodes (
  id uuid not null,
  name text not null,
  hostname text not null,
  boot_id text not null,
  pid integer not null,
  pid_started_at text not null,
  capability jsonb not null,
  counter bigint default 0 not null,
  state text default 'active'::text not null,
  processed integer default 0 not null,
  failed integer default 0 not null,
  started_at timestamp with time zone default now() not null,
  seen_at timestamp with time zone default now() not null,
  ended_at timestamp with time zone,
  settings jsonb default '{}'::jsonb not null,
  problems jsonb default '[]'::jsonb not null,
  drain_requested boolean default false not null,
  retire_requested boolean default false not null,
  constraint nodes_pkey PRIMARY KEY (id),
  constraint nodes_name_length CHECK (char_length(name) <= 300)
);
CREATE INDEX nodes_live ON nodes USING btree (state) WHERE state = ANY (ARRAY['active'::text, 'draining'::text]);
CREATE INDEX nodes_seen ON nodes USING btree (seen_at);

create table notification_settings (
  owner_id text not null,
  channel text not null,
  is_on boolean default false not null,
  target text not null,
  code_hash text,
  code_until timestamp(3) with time zone,
  code_tries integer default 0 not null,
  updated_at timestamp(3) with time zone default now() not null,
  constraint notification_settings_owner_id_channel_pk PRIMARY KEY (owner_id, channel),
  constraint notification_settings_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE
);

create table passkeys (
  id text not null,
  user_id text not null,
  name text,
  public_key text not null,
  credential_id text not null,
  counter bigint not null,
  device_type text not null,
  backed_up boolean not null,
  transports text,
  aaguid text,
  created_at timestamp with time zone default now() not null,
  last_used_at timestamp with time zone,
  rp_id text,
  constraint passkeys_pkey PRIMARY KEY (id),
  constraint passkeys_name_length CHECK (char_length(name) <= 100),
  constraint passkeys_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint passkeys_credential_id_unique UNIQUE (credential_id)
);
CREATE INDEX passkeys_user ON passkeys USING btree (user_id);

create table password_resets (
  id text not null,
  token_hash text not null,
  user_id text not null,
  created_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone not null,
  constraint password_resets_pkey PRIMARY KEY (id),
  constraint password_resets_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint password_resets_token_hash_unique UNIQUE (token_hash)
);
CREATE INDEX password_resets_user ON password_resets USING btree (user_id);

create table presets (
  id uuid not null,
  owner_id text,
  type text not null,
  name text not null,
  key text not null,
  content jsonb not null,
  removed_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default now() not null,
  constraint presets_pkey PRIMARY KEY (id),
  constraint presets_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX presets_name ON presets USING btree (COALESCE(owner_id, ''::text), type, key) WHERE removed_at IS NULL;
CREATE INDEX presets_owner ON presets USING btree (owner_id);

create table prompts (
  role text not null,
  version integer not null,
  text text not null,
  note text default ''::text not null,
  is_active boolean default false not null,
  author_id text,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint prompts_role_version_pk PRIMARY KEY (role, version),
  constraint prompts_author_id_users_id_fk FOREIGN KEY (author_id) REFERENCES users(id) ON DELETE SET NULL
);
CREATE UNIQUE INDEX prompts_one_active ON prompts USING btree (role) WHERE is_active;

create table proposals (
  id uuid not null,
  run_id uuid not null,
  owner_id text not null,
  tool_call_id text not null,
  request jsonb not null,
  request_sha256 text not null,
  title text not null,
  state text default 'open'::text not null,
  job_id uuid,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  decided_at timestamp(3) with time zone,
  constraint proposals_pkey PRIMARY KEY (id),
  constraint proposals_job_id_jobs_id_fk FOREIGN KEY (job_id) REFERENCES jobs(id) ON DELETE SET NULL,
  constraint proposals_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint proposals_run_id_assistant_runs_id_fk FOREIGN KEY (run_id) REFERENCES assistant_runs(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX proposals_call ON proposals USING btree (run_id, tool_call_id);
CREATE INDEX proposals_owner ON proposals USING btree (owner_id);
CREATE UNIQUE INDEX proposals_request ON proposals USING btree (run_id, request_sha256);

create table provider_attempts (
  id uuid not null,
  job_id uuid,
  owner_id text,
  provider text not null,
  key_id text not null,
  model text not null,
  endpoint text not null,
  state text not null,
  node_id uuid,
  external_id text,
  urls jsonb,
  token text not null,
  price_usd double precision,
  cost_usd double precision,
  error_class text,
  error_message text,
  retry_after_ms integer,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  accepted_at timestamp(3) with time zone,
  ended_at timestamp(3) with time zone,
  polls integer default 0 not null,
  next_poll_at timestamp(3) with time zone,
  deadline_at timestamp(3) with time zone,
  finish_token uuid,
  finish_until timestamp(3) with time zone,
  api_key_id text,
  constraint provider_attempts_pkey PRIMARY KEY (id),
  constraint provider_attempts_job_id_jobs_id_fk FOREIGN KEY (job_id) REFERENCES jobs(id) ON DELETE SET NULL,
  constraint provider_attempts_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE SET NULL
);
CREATE INDEX provider_attempts_age ON provider_attempts USING btree (created_at);
CREATE INDEX provider_attempts_api_key ON provider_attempts USING btree (api_key_id, created_at) WHERE api_key_id IS NOT NULL;
CREATE INDEX provider_attempts_due ON provider_attempts USING btree (next_poll_at) WHERE state = ANY (ARRAY['submitting'::text, 'unknown'::text, 'accepted'::text]);
CREATE INDEX provider_attempts_ended ON provider_attempts USING btree (provider, key_id, ended_at);
CREATE INDEX provider_attempts_job ON provider_attempts USING btree (job_id);
CREATE INDEX provider_attempts_key ON provider_attempts USING btree (provider, key_id, created_at);
CREATE INDEX provider_attempts_owner ON provider_attempts USING btree (owner_id, created_at);
CREATE UNIQUE INDEX provider_attempts_token ON provider_attempts USING btree (token);

create table provider_settings (
  provider text not null,
  is_enabled boolean default true not null,
  updated_at timestamp(3) with time zone default now() not null,
  constraint provider_settings_pkey PRIMARY KEY (provider)
);

create table queue_turns (
  queue text not null,
  owner_id text not null,
  served_at timestamp with time zone not null,
  constraint queue_turns_queue_owner_id_pk PRIMARY KEY (queue, owner_id),
  constraint queue_turns_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE
);

create table rate_limits (
  id text not null,
  key text not null,
  count integer not null,
  last_request bigint not null,
  constraint rate_limits_pkey PRIMARY KEY (id),
  constraint rate_limits_key_unique UNIQUE (key)
);

create table recall_vectors (
  id uuid not null,
  owner_id text not null,
  kind text not null,
  model text not null,
  dimensions integer not null,
  codes bytea not null,
  from_at timestamp(3) with time zone not null,
  to_at timestamp(3) with time zone not null,
  revision bigint default nextval('recall_vectors_revision_seq'::regclass) not null,
  constraint recall_vectors_pkey PRIMARY KEY (id),
  constraint recall_vectors_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX recall_vectors_owner ON recall_vectors USING btree (owner_id, model, revision);

create table result_holds (
  job_id uuid not null,
  token uuid not null,
  held_until timestamp with time zone not null,
  constraint result_holds_pkey PRIMARY KEY (job_id),
  constraint result_holds_job_id_jobs_id_fk FOREIGN KEY (job_id) REFERENCES jobs(id) ON DELETE CASCADE
);

create table server_drains (
  url text not null,
  requested_by text,
  requested_at timestamp with time zone default now() not null,
  constraint server_drains_pkey PRIMARY KEY (url),
  constraint server_drains_requested_by_users_id_fk FOREIGN KEY (requested_by) REFERENCES users(id) ON DELETE SET NULL
);

create table server_leases (
  url text not null,
  token uuid not null,
  node_id uuid not null,
  job_id uuid not null,
  taken_at timestamp with time zone default now() not null,
  free_at timestamp with time zone,
  constraint server_leases_pkey PRIMARY KEY (url)
);

create table sessions (
  id text not null,
  token text not null,
  user_id text not null,
  expires_at timestamp with time zone not null,
  ip_address text,
  user_agent text,
  impersonated_by text,
  created_at timestamp with time zone default now() not null,
  updated_at timestamp with time zone default now() not null,
  is_strong boolean default false not null,
  confirmed_at timestamp with time zone,
  constraint sessions_pkey PRIMARY KEY (id),
  constraint sessions_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint sessions_token_unique UNIQUE (token)
);
CREATE INDEX sessions_user ON sessions USING btree (user_id);
CREATE TRIGGER service_cannot_sign_in BEFORE INSERT OR UPDATE OF user_id ON sessions FOR EACH ROW EXECUTE FUNCTION forbid_service_sign_in('user_id');

create table signing_keys (
  fingerprint text not null,
  certificates text not null,
  sealed_key text,
  sealed_by text,
  made_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint signing_keys_pkey PRIMARY KEY (fingerprint),
  constraint signing_keys_sealed CHECK ((sealed_key IS NULL) = (sealed_by IS NULL)),
  constraint signing_keys_sealed_by_unique UNIQUE (sealed_by)
);

create table spending_caps (
  user_id text not null,
  daily_usd double precision,
  monthly_usd double precision,
  constraint spending_caps_pkey PRIMARY KEY (user_id),
  constraint spending_caps_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);

create table stack_changes (
  id uuid default gen_random_uuid() not null,
  owner_id text not null,
  stack_id uuid not null,
  constraint stack_changes_pkey PRIMARY KEY (id),
  constraint stack_changes_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX stack_changes_owner ON stack_changes USING btree (owner_id);

create table stack_months (
  owner_id text not null,
  stack_id uuid not null,
  month date not null,
  constraint stack_months_owner_id_stack_id_pk PRIMARY KEY (owner_id, stack_id),
  constraint stack_months_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE
);

create table studio (
  id integer default 1 not null,
  store_mark text,
  store_marked_at timestamp with time zone,
  orphans_swept_at timestamp with time zone,
  archived_at timestamp with time zone,
  archiving_until timestamp with time zone,
  embedding_until timestamp with time zone,
  alerts jsonb default '{}'::jsonb not null,
  spend_summed_until timestamp with time zone,
  checkup jsonb,
  accepted_licences text[] default '{}'::text[] not null,
  admins_need_factor boolean default false not null,
  constraint studio_pkey PRIMARY KEY (id),
  constraint studio_one_row CHECK (id = 1)
);

create table tags (
  id uuid not null,
  owner_id text not null,
  name text not null,
  key text not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint tags_pkey PRIMARY KEY (id),
  constraint tags_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX tags_key ON tags USING btree (owner_id, key);

create table telegram_bots (
  bot_id text not null,
  holder uuid,
  lease_until timestamp(3) with time zone,
  next_offset bigint,
  offset_at timestamp(3) with time zone,
  constraint telegram_bots_pkey PRIMARY KEY (bot_id)
);

create table telegram_codes (
  id uuid not null,
  user_id text not null,
  code_hash text not null,
  chat_id text,
  expires_at timestamp(3) with time zone not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint telegram_codes_pkey PRIMARY KEY (id),
  constraint telegram_codes_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint telegram_codes_code_hash_unique UNIQUE (code_hash)
);
CREATE INDEX telegram_codes_user ON telegram_codes USING btree (user_id);

create table telegram_jobs (
  job_id uuid not null,
  chat_id text not null,
  message_id bigint,
  text text,
  not_before timestamp(3) with time zone default clock_timestamp() not null,
  constraint telegram_jobs_pkey PRIMARY KEY (job_id),
  constraint telegram_jobs_job_id_jobs_id_fk FOREIGN KEY (job_id) REFERENCES jobs(id) ON DELETE CASCADE
);
CREATE INDEX telegram_jobs_due ON telegram_jobs USING btree (not_before);

create table telegram_links (
  user_id text not null,
  chat_id text not null,
  name text not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint telegram_links_pkey PRIMARY KEY (user_id),
  constraint telegram_links_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint telegram_links_chat_id_unique UNIQUE (chat_id)
);

create table telegram_requests (
  id uuid not null,
  user_id text not null,
  chat_id text not null,
  group_id text,
  photos jsonb not null,
  caption text,
  asks_at timestamp(3) with time zone,
  ended_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  offer jsonb,
  offer_until timestamp(3) with time zone,
  constraint telegram_requests_pkey PRIMARY KEY (id),
  constraint telegram_requests_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX telegram_requests_chat ON telegram_requests USING btree (chat_id, created_at);
CREATE INDEX telegram_requests_due ON telegram_requests USING btree (asks_at) WHERE asks_at IS NOT NULL AND ended_at IS NULL;
CREATE INDEX telegram_requests_user ON telegram_requests USING btree (user_id);

create table telegram_updates (
  bot_id text not null,
  update_id bigint not null,
  tries integer default 1 not null,
  done_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint telegram_updates_bot_id_update_id_pk PRIMARY KEY (bot_id, update_id)
);
CREATE INDEX telegram_updates_age ON telegram_updates USING btree (created_at);

create table turns (
  name text not null,
  token uuid,
  held_until timestamp(3) with time zone,
  due_at timestamp(3) with time zone default clock_timestamp() not null,
  began_at timestamp(3) with time zone,
  done_at timestamp(3) with time zone,
  took_ms integer,
  failures integer default 0 not null,
  error text,
  failed_at timestamp(3) with time zone,
  constraint turns_pkey PRIMARY KEY (name)
);

create table two_factors (
  id text not null,
  user_id text not null,
  secret text not null,
  backup_codes text not null,
  verified boolean default false not null,
  failed_verification_count integer default 0 not null,
  locked_until timestamp with time zone,
  constraint two_factors_pkey PRIMARY KEY (id),
  constraint two_factors_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX two_factors_user ON two_factors USING btree (user_id);

create table users (
  id text not null,
  name text not null,
  email text not null,
  email_verified boolean default false not null,
  image text,
  is_anonymous boolean default false,
  role text default 'user'::text,
  banned boolean default false,
  ban_reason text,
  ban_expires timestamp with time zone,
  created_at timestamp with time zone default now() not null,
  updated_at timestamp with time zone default now() not null,
  quota_bytes bigint,
  deleted_at timestamp with time zone,
  export_until timestamp with time zone,
  cloud_policy text,
  self_made boolean default false not null,
  locale text,
  browser_locale text,
  program_model text,
  two_factor_enabled boolean default false not null,
  session_ends integer default 0 not null,
  constraint users_pkey PRIMARY KEY (id),
  constraint users_ban_reason_length CHECK (char_length(ban_reason) <= 1000),
  constraint users_browser_locale_length CHECK (char_length(browser_locale) <= 35),
  constraint users_email_length CHECK (char_length(email) <= 254),
  constraint users_image_none CHECK (image IS NULL),
  constraint users_locale_length CHECK (char_length(locale) <= 35),
  constraint users_name_length CHECK (char_length(name) <= 100),
  constraint users_quota_bytes CHECK (quota_bytes >= 0),
  constraint users_email_unique UNIQUE (email)
);
CREATE UNIQUE INDEX users_service ON users USING btree (role) WHERE role = 'service'::text;
CREATE INDEX users_suspended ON users USING btree (id) WHERE banned;
CREATE TRIGGER service_cannot_sign_in BEFORE UPDATE OF role ON users FOR EACH ROW EXECUTE FUNCTION forbid_service_with_sign_in();

create table verifications (
  id text not null,
  identifier text not null,
  value text not null,
  expires_at timestamp with time zone not null,
  created_at timestamp with time zone default now() not null,
  updated_at timestamp with time zone default now() not null,
  constraint verifications_pkey PRIMARY KEY (id)
);

create table wardrobe_items (
  id uuid not null,
  owner_id text not null,
  image_id uuid not null,
  cut_out_job_id uuid,
  what text not null,
  category text,
  name text default ''::text not null,
  tags text[] not null,
  removed_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default now() not null,
  constraint wardrobe_items_pkey PRIMARY KEY (id),
  constraint wardrobe_items_cut_out_job_id_jobs_id_fk FOREIGN KEY (cut_out_job_id) REFERENCES jobs(id) ON DELETE SET NULL,
  constraint wardrobe_items_image_id_images_id_fk FOREIGN KEY (image_id) REFERENCES images(id) ON DELETE CASCADE,
  constraint wardrobe_items_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX wardrobe_items_cut_out ON wardrobe_items USING btree (cut_out_job_id);
CREATE UNIQUE INDEX wardrobe_items_image ON wardrobe_items USING btree (image_id);
CREATE INDEX wardrobe_items_owner ON wardrobe_items USING btree (owner_id, created_at, id);

create table webhook_endpoints (
  id uuid not null,
  owner_id text not null,
  url text,
  secret text not null,
  previous_secret text,
  previous_until timestamp(3) with time zone,
  is_enabled boolean default true not null,
  disabled_reason text,
  created_at timestamp(3) with time zone default now() not null,
  constraint webhook_endpoints_pkey PRIMARY KEY (id),
  constraint webhook_endpoints_url_length CHECK (char_length(url) <= 2000),
  constraint webhook_endpoints_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX webhook_endpoints_owner ON webhook_endpoints USING btree (owner_id);

-- sequence recall_vectors_revision_seq

-- accept_job(p_job jsonb, p_links jsonb, p_rules jsonb) returns TABLE(outcome text, detail jsonb, is_queued boolean, idle integer, needs_dispatch boolean): server/db/functions/accept-job.sql

-- await_likeness() returns trigger: server/db/functions/triggers.sql

-- dispatch_queue(p_queue text) returns TABLE(id uuid, owner_id text, need text, revision integer, attempt integer, ring integer, idle integer): server/db/functions/dispatch.sql

-- drop_deleted_vectors() returns trigger: server/db/functions/triggers.sql

-- drop_job_logs() returns trigger: server/db/functions/triggers.sql

-- drop_old_vector() returns trigger: server/db/functions/triggers.sql

-- end_batch() returns trigger: server/db/functions/triggers.sql

-- end_batch_if_done(p_batch uuid) returns void: server/db/functions/triggers.sql

-- forbid_service_sign_in() returns trigger: server/db/functions/triggers.sql

-- forbid_service_with_sign_in() returns trigger: server/db/functions/triggers.sql

-- forget_search_text() returns trigger: server/db/functions/triggers.sql

-- has_step_due(p_batch uuid) returns boolean: server/db/functions/triggers.sql

-- idle_slots(p_queue text, p_need text) returns integer: server/db/functions/dispatch.sql

-- is_agreed(p_agreed jsonb, p_price_usd double precision) returns boolean: server/db/functions/providers.sql

-- is_resumed(p_job jobs) returns boolean: server/db/functions/dispatch.sql

-- keep_audit_entries() returns trigger: server/db/functions/triggers.sql

-- keep_places() returns trigger: server/db/functions/triggers.sql

-- line_head(p_queue text, p_full text[], p_picked uuid[]) returns TABLE(id uuid, need text, owner_id text): server/db/functions/dispatch.sql

-- lock_crowded_line(p_queue text) returns void: server/db/functions/locks.sql

-- lock_line(p_queue text) returns void: server/db/functions/locks.sql

-- lock_spend() returns void: server/db/functions/locks.sql

-- lock_submits(p_owner text) returns void: server/db/functions/locks.sql

-- note_assistant_run() returns trigger: server/db/functions/triggers.sql

-- note_stack_change() returns trigger: server/db/functions/triggers.sql

-- only_turns(p_job uuid) returns boolean: server/db/functions/triggers.sql

-- put_on_stack() returns trigger: server/db/functions/triggers.sql

CREATE OR REPLACE FUNCTION public.recall_form(p_text text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select normalize(regexp_replace(regexp_replace(regexp_replace(
    replace(replace(lower(normalize(p_text, NFKD)), 'ß', 'ss'), 'ς', 'σ'),
    '([a-zα-ω])[\u0300-\u036F]+', '\1', 'g'),
    '[\u0591-\u05C7\u0610-\u061A\u0640\u064B-\u065F\u0670\u06D6-\u06ED]', '', 'g'),
    '[\u00AD\u200B-\u200F\u2060\uFE0E\uFE0F\uFEFF]', '', 'g'), NFC)
$function$;

CREATE OR REPLACE FUNCTION public.recall_parts(p_form text)
 RETURNS SETOF text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case when length(run) = 1 then run else substr(run, place, 2) end
  from regexp_matches(p_form, '[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3005\u3040-\u30FF\u3400-\u4DBF\u4E00-\u9FFF\uAC00-\uD7AF\uF900-\uFAFF]+', 'g') as found(runs)
  cross join lateral unnest(runs) as run
  cross join lateral generate_series(1, greatest(1, length(run) - 1)) as place
  union
  select letter[1] from regexp_matches(p_form, '[\u3400-\u4DBF\u4E00-\u9FFF]', 'g') as found(letter)
  union
  select form from regexp_matches(p_form, '[\u0370-\u03FF\u0530-\u058F\u05D0-\u05F2\u0620-\u06FF\u0750-\u077F\u0900-\u0DFF\u10A0-\u10FF\u1200-\u137F]+', 'g') as found(words)
  cross join lateral unnest(words) as word
  cross join lateral (values (word), (regexp_replace(word, '^([وفبكل]?ال|لل)(?=..)', '')),
    (regexp_replace(word, '^[והבלמשכ](?=...)', ''))) as forms(form)
$function$;

CREATE OR REPLACE FUNCTION public.recall_terms(p_owner text, p_text text, p_tags text[] DEFAULT '{}'::text[])
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'public'
AS $function$
  select coalesce(array_agg(left(encode(sha256(p_owner::bytea), 'base64'), 6) || ' ' || term), '{}')
  from (
    select lexeme as term from recall_form(p_text || ' ' || array_to_string(p_tags, ' ')) as form, unnest(to_tsvector('pg_catalog.russian', form))
    union
    select part from recall_form(p_text || ' ' || array_to_string(p_tags, ' ')) as form, recall_parts(form) as part
  ) terms
$function$;

CREATE OR REPLACE FUNCTION public.recall_words(p_terms text[])
 RETURNS tsvector
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'public'
AS $function$
begin
  return array_to_tsvector(p_terms);
exception when program_limit_exceeded then
  return array_to_tsvector(array(select left(term, 200) from unnest(p_terms[1:1000]) as term));
end
$function$;

-- reserve_attempt(p_attempt jsonb, p_seen jsonb) returns SETOF provider_attempts: server/db/functions/providers.sql

-- serving_slots(p_queue text, p_need text) returns integer: server/db/functions/dispatch.sql

-- tell_pipeline_listeners() returns trigger: server/db/functions/triggers.sql

-- try_lock_line(p_queue text) returns boolean: server/db/functions/locks.sql

-- try_provider(p_lease jsonb, p_data jsonb, p_attempt jsonb, p_seen jsonb) returns TABLE(outcome text, revision integer, attempt jsonb): server/db/functions/providers.sql

-- window_room(p_queue text, p_need text) returns integer: server/db/functions/dispatch.sql
