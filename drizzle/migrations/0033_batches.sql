CREATE TABLE "batch_jobs" (
	"batch_id" uuid NOT NULL,
	"position" smallint NOT NULL,
	"job_id" uuid NOT NULL,
	CONSTRAINT "batch_jobs_batch_id_position_pk" PRIMARY KEY("batch_id","position")
);
--> statement-breakpoint
CREATE TABLE "batches" (
	"id" uuid PRIMARY KEY NOT NULL,
	"owner_id" text NOT NULL,
	"title" text,
	"axes" jsonb,
	"size" smallint NOT NULL,
	"webhook_url" text,
	"round" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "deliveries" ADD COLUMN "batch_id" uuid;--> statement-breakpoint
ALTER TABLE "batch_jobs" ADD CONSTRAINT "batch_jobs_batch_id_batches_id_fk" FOREIGN KEY ("batch_id") REFERENCES "public"."batches"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "batch_jobs" ADD CONSTRAINT "batch_jobs_job_id_jobs_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."jobs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "batches" ADD CONSTRAINT "batches_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "batch_jobs_job" ON "batch_jobs" USING btree ("job_id");--> statement-breakpoint
CREATE INDEX "batches_owner" ON "batches" USING btree ("owner_id","id");--> statement-breakpoint
ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_batch_id_batches_id_fk" FOREIGN KEY ("batch_id") REFERENCES "public"."batches"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "deliveries_batch" ON "deliveries" USING btree ("batch_id") WHERE "deliveries"."batch_id" is not null;--> statement-breakpoint
-- Its body is in server/db/functions/triggers.sql, which is applied after the migrations.
create function end_batch() returns trigger language plpgsql as $$ begin return null; end $$;
--> statement-breakpoint
create trigger jobs_end_batch after update of status on jobs
for each row when (old.status is distinct from new.status and new.status in ('completed', 'failed', 'cancelled'))
execute function end_batch();
