CREATE TABLE "telegram_bots" (
	"bot_id" text PRIMARY KEY NOT NULL,
	"holder" uuid,
	"lease_until" timestamp (3) with time zone,
	"next_offset" bigint,
	"offset_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "telegram_codes" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"code_hash" text NOT NULL,
	"chat_id" text,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "telegram_codes_code_hash_unique" UNIQUE("code_hash")
);
--> statement-breakpoint
CREATE TABLE "telegram_jobs" (
	"job_id" uuid PRIMARY KEY NOT NULL,
	"chat_id" text NOT NULL,
	"message_id" bigint,
	"text" text,
	"not_before" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "telegram_links" (
	"user_id" text PRIMARY KEY NOT NULL,
	"chat_id" text NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "telegram_links_chat_id_unique" UNIQUE("chat_id")
);
--> statement-breakpoint
CREATE TABLE "telegram_requests" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"chat_id" text NOT NULL,
	"group_id" text,
	"photos" jsonb NOT NULL,
	"caption" text,
	"asks_at" timestamp (3) with time zone,
	"ended_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "telegram_updates" (
	"bot_id" text NOT NULL,
	"update_id" bigint NOT NULL,
	"tries" integer DEFAULT 1 NOT NULL,
	"done_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "telegram_updates_bot_id_update_id_pk" PRIMARY KEY("bot_id","update_id")
);
--> statement-breakpoint
ALTER TABLE "telegram_codes" ADD CONSTRAINT "telegram_codes_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "telegram_jobs" ADD CONSTRAINT "telegram_jobs_job_id_jobs_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."jobs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "telegram_links" ADD CONSTRAINT "telegram_links_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "telegram_requests" ADD CONSTRAINT "telegram_requests_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "telegram_codes_user" ON "telegram_codes" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "telegram_jobs_due" ON "telegram_jobs" USING btree ("not_before");--> statement-breakpoint
CREATE INDEX "telegram_requests_user" ON "telegram_requests" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "telegram_requests_chat" ON "telegram_requests" USING btree ("chat_id","created_at");--> statement-breakpoint
CREATE INDEX "telegram_requests_due" ON "telegram_requests" USING btree ("asks_at") WHERE "telegram_requests"."asks_at" is not null and "telegram_requests"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "telegram_updates_age" ON "telegram_updates" USING btree ("created_at");