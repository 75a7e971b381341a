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
