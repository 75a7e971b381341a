CREATE TABLE "job_logs" (
	"job_id" uuid NOT NULL,
	"number" smallint NOT NULL,
	"level" text NOT NULL,
	"process" text NOT NULL,
	"node_id" uuid,
	"message" text NOT NULL,
	"data" json NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "job_logs_job_id_number_pk" PRIMARY KEY("job_id","number"),
	CONSTRAINT "job_logs_number" CHECK ("number" between 1 and 200)
);
--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "max_retries" smallint;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "session_id" text;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "metadata" jsonb;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "request_id" text;--> statement-breakpoint
CREATE INDEX "job_logs_age" ON "job_logs" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "jobs_session" ON "jobs" USING btree ("session_id","id") WHERE "jobs"."session_id" is not null;--> statement-breakpoint
-- The lines of a removed job go with it, without the lock on the job that a foreign key takes at each insert.
create function drop_job_logs() returns trigger language plpgsql as $$
begin
  delete from job_logs where job_id in (select id from gone);
  return null;
end $$;
--> statement-breakpoint
create trigger jobs_drop_logs after delete on jobs referencing old table as gone
for each statement execute function drop_job_logs();
