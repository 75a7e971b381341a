-- In the order of those that buy, so that neither waits for the other.
LOCK TABLE "jobs", "provider_attempts", "model_calls", "daily_spend", "assistant_runs" IN ACCESS EXCLUSIVE MODE;--> statement-breakpoint
CREATE TABLE "key_caps" (
	"key_id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"usd" double precision NOT NULL,
	"period" text NOT NULL,
	CONSTRAINT "key_caps_usd" CHECK ("key_caps"."usd" >= 0),
	CONSTRAINT "key_caps_period" CHECK ("key_caps"."period" in ('day', 'week', 'month', 'never'))
);
--> statement-breakpoint
ALTER TABLE "assistant_runs" ADD COLUMN "api_key_id" text;--> statement-breakpoint
ALTER TABLE "model_calls" ADD COLUMN "api_key_id" text;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "api_key_id" text;--> statement-breakpoint
ALTER TABLE "daily_spend" ADD COLUMN "api_key_id" text;--> statement-breakpoint
ALTER TABLE "provider_attempts" ADD COLUMN "api_key_id" text;--> statement-breakpoint
ALTER TABLE "key_caps" ADD CONSTRAINT "key_caps_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "key_caps_user" ON "key_caps" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "model_calls_api_key" ON "model_calls" USING btree ("api_key_id","started_at") WHERE "model_calls"."api_key_id" is not null;--> statement-breakpoint
CREATE INDEX "daily_spend_api_key" ON "daily_spend" USING btree ("api_key_id","day") WHERE "daily_spend"."api_key_id" is not null;--> statement-breakpoint
CREATE INDEX "provider_attempts_api_key" ON "provider_attempts" USING btree ("api_key_id","created_at") WHERE "provider_attempts"."api_key_id" is not null;