-- The stems of a text, each behind a hash of its owner: short, and of two owners in 70 thousand million alike, so that
-- readers ask for the owner too. The configuration knows English and Russian stems; a word of another language
-- stays as it is. A new configuration means that all texts are to be read again.
create function recall_terms(p_owner text, p_text text, p_tags text[] default '{}') returns text[]
language sql immutable parallel safe as $$
  select coalesce(array_agg(left(encode(sha256(p_owner::bytea), 'base64'), 6) || ' ' || lexeme), '{}')
  from unnest(to_tsvector('pg_catalog.russian', p_text || ' ' || array_to_string(p_tags, ' ')))
$$;
--> statement-breakpoint
CREATE TABLE "assistant_run_events" (
	"run_id" uuid NOT NULL,
	"revision" integer NOT NULL,
	"status" text NOT NULL,
	"at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"node_id" uuid,
	"error_code" text,
	CONSTRAINT "assistant_run_events_run_id_revision_pk" PRIMARY KEY("run_id","revision")
);
--> statement-breakpoint
CREATE TABLE "assistant_runs" (
	"id" uuid PRIMARY KEY NOT NULL,
	"owner_id" text NOT NULL,
	"conversation_id" uuid NOT NULL,
	"question_id" uuid NOT NULL,
	"answer_id" uuid,
	"status" text NOT NULL,
	"revision" integer DEFAULT 1 NOT NULL,
	"attempt" integer DEFAULT 0 NOT NULL,
	"losses" integer DEFAULT 0 NOT NULL,
	"node_id" uuid,
	"stop_requested_at" timestamp (3) with time zone,
	"analysis" jsonb,
	"context" jsonb,
	"answer" text DEFAULT '' NOT NULL,
	"parts" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"error_code" text,
	"error_message" text,
	"created_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"ended_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "assistant_settings" (
	"user_id" text PRIMARY KEY NOT NULL,
	"is_memory_paused" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE TABLE "model_calls" (
	"id" uuid PRIMARY KEY NOT NULL,
	"run_id" uuid,
	"owner_id" text,
	"stage" text NOT NULL,
	"try" integer NOT NULL,
	"model" text NOT NULL,
	"prompt_version" integer,
	"input_tokens" integer,
	"output_tokens" integer,
	"expected_usd" double precision NOT NULL,
	"cost_usd" double precision,
	"error_class" text,
	"started_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"first_text_at" timestamp (3) with time zone,
	"ended_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "prompts" (
	"role" text NOT NULL,
	"version" integer NOT NULL,
	"text" text NOT NULL,
	"note" text DEFAULT '' NOT NULL,
	"is_active" boolean DEFAULT false NOT NULL,
	"author_id" text,
	"created_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "prompts_role_version_pk" PRIMARY KEY("role","version")
);
--> statement-breakpoint
CREATE TABLE "proposals" (
	"id" uuid PRIMARY KEY NOT NULL,
	"run_id" uuid NOT NULL,
	"owner_id" text NOT NULL,
	"tool_call_id" text NOT NULL,
	"request" jsonb NOT NULL,
	"request_sha256" text NOT NULL,
	"title" text NOT NULL,
	"state" text DEFAULT 'open' NOT NULL,
	"job_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"decided_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "assistant_conversations" (
	"id" uuid PRIMARY KEY NOT NULL,
	"owner_id" text NOT NULL,
	"title" text,
	"created_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"last_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "assistant_messages" (
	"id" uuid PRIMARY KEY NOT NULL,
	"conversation_id" uuid NOT NULL,
	"owner_id" text NOT NULL,
	"role" text NOT NULL,
	"speaker" text,
	"text" text NOT NULL,
	"is_recalled" boolean DEFAULT true NOT NULL,
	"at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"run_id" uuid,
	"archived_at" timestamp (3) with time zone,
	"terms" text[] GENERATED ALWAYS AS (recall_terms(owner_id, text)) STORED NOT NULL
);
--> statement-breakpoint
CREATE TABLE "memories" (
	"id" uuid PRIMARY KEY NOT NULL,
	"owner_id" text NOT NULL,
	"conversation_id" uuid,
	"summary" text NOT NULL,
	"tags" text[] NOT NULL,
	"period_start" timestamp (3) with time zone NOT NULL,
	"period_end" timestamp (3) with time zone NOT NULL,
	"source_ids" uuid[] NOT NULL,
	"origin" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"terms" text[] GENERATED ALWAYS AS (recall_terms(owner_id, summary, tags)) STORED NOT NULL
);
--> statement-breakpoint
ALTER TABLE "studio" ADD COLUMN "archived_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "studio" ADD COLUMN "archiving_until" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "assistant_run_events" ADD CONSTRAINT "assistant_run_events_run_id_assistant_runs_id_fk" FOREIGN KEY ("run_id") REFERENCES "public"."assistant_runs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "assistant_runs" ADD CONSTRAINT "assistant_runs_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "assistant_runs" ADD CONSTRAINT "assistant_runs_conversation_id_assistant_conversations_id_fk" FOREIGN KEY ("conversation_id") REFERENCES "public"."assistant_conversations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "assistant_runs" ADD CONSTRAINT "assistant_runs_question_id_assistant_messages_id_fk" FOREIGN KEY ("question_id") REFERENCES "public"."assistant_messages"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "assistant_settings" ADD CONSTRAINT "assistant_settings_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "model_calls" ADD CONSTRAINT "model_calls_run_id_assistant_runs_id_fk" FOREIGN KEY ("run_id") REFERENCES "public"."assistant_runs"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "model_calls" ADD CONSTRAINT "model_calls_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "prompts" ADD CONSTRAINT "prompts_author_id_users_id_fk" FOREIGN KEY ("author_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "proposals" ADD CONSTRAINT "proposals_run_id_assistant_runs_id_fk" FOREIGN KEY ("run_id") REFERENCES "public"."assistant_runs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "proposals" ADD CONSTRAINT "proposals_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "proposals" ADD CONSTRAINT "proposals_job_id_jobs_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."jobs"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "assistant_conversations" ADD CONSTRAINT "assistant_conversations_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "assistant_messages" ADD CONSTRAINT "assistant_messages_conversation_id_assistant_conversations_id_fk" FOREIGN KEY ("conversation_id") REFERENCES "public"."assistant_conversations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "assistant_messages" ADD CONSTRAINT "assistant_messages_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "memories" ADD CONSTRAINT "memories_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "memories" ADD CONSTRAINT "memories_conversation_id_assistant_conversations_id_fk" FOREIGN KEY ("conversation_id") REFERENCES "public"."assistant_conversations"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "assistant_run_events_age" ON "assistant_run_events" USING btree ("at");--> statement-breakpoint
CREATE INDEX "assistant_runs_conversation" ON "assistant_runs" USING btree ("conversation_id","created_at");--> statement-breakpoint
CREATE INDEX "assistant_runs_owner" ON "assistant_runs" USING btree ("owner_id","created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "assistant_runs_one_open" ON "assistant_runs" USING btree ("conversation_id") WHERE "assistant_runs"."status" not in ('completed', 'failed');--> statement-breakpoint
CREATE INDEX "assistant_runs_open" ON "assistant_runs" USING btree ("created_at") WHERE "assistant_runs"."status" not in ('completed', 'failed');--> statement-breakpoint
CREATE INDEX "assistant_runs_ended" ON "assistant_runs" USING btree ("ended_at");--> statement-breakpoint
CREATE INDEX "model_calls_run" ON "model_calls" USING btree ("run_id");--> statement-breakpoint
CREATE INDEX "model_calls_owner" ON "model_calls" USING btree ("owner_id","started_at");--> statement-breakpoint
CREATE INDEX "model_calls_age" ON "model_calls" USING btree ("started_at");--> statement-breakpoint
CREATE UNIQUE INDEX "prompts_one_active" ON "prompts" USING btree ("role") WHERE "prompts"."is_active";--> statement-breakpoint
CREATE UNIQUE INDEX "proposals_call" ON "proposals" USING btree ("run_id","tool_call_id");--> statement-breakpoint
CREATE UNIQUE INDEX "proposals_request" ON "proposals" USING btree ("run_id","request_sha256");--> statement-breakpoint
CREATE INDEX "proposals_owner" ON "proposals" USING btree ("owner_id");--> statement-breakpoint
CREATE INDEX "assistant_conversations_owner" ON "assistant_conversations" USING btree ("owner_id","last_at");--> statement-breakpoint
CREATE INDEX "assistant_messages_owner" ON "assistant_messages" USING btree ("owner_id","at");--> statement-breakpoint
CREATE INDEX "assistant_messages_conversation" ON "assistant_messages" USING btree ("conversation_id","at");--> statement-breakpoint
CREATE INDEX "assistant_messages_terms" ON "assistant_messages" USING gin ("terms") WITH (fastupdate=false);--> statement-breakpoint
CREATE INDEX "assistant_messages_speaker" ON "assistant_messages" USING btree ("owner_id",lower("speaker")) WHERE "assistant_messages"."speaker" is not null;--> statement-breakpoint
CREATE INDEX "assistant_messages_unarchived" ON "assistant_messages" USING btree ("at") WHERE "assistant_messages"."archived_at" is null;--> statement-breakpoint
CREATE INDEX "memories_owner" ON "memories" USING btree ("owner_id","period_end");--> statement-breakpoint
CREATE INDEX "memories_terms" ON "memories" USING gin ("terms") WITH (fastupdate=false);
--> statement-breakpoint
-- Writes the story of a run and tells workers and web processes of each new status. The sweep of the workers finds what a
-- process did not hear. A restored backup brings its stories along, and nobody is to be told of them.
create function note_assistant_run() returns trigger language plpgsql as $$
begin
  if current_setting('atelier.is_loading', true) = 'on' then return null; end if;
  insert into assistant_run_events (run_id, revision, status, node_id, error_code)
    values (new.id, new.revision, new.status, new.node_id, new.error_code);
  perform pg_notify('atelier_assistant', json_build_object('type', 'run', 'id', new.id, 'ownerId', new.owner_id,
    'status', new.status, 'revision', new.revision)::text);
  return null;
end $$;
--> statement-breakpoint
create trigger assistant_runs_note after insert or update of status on assistant_runs
  for each row execute function note_assistant_run();
