CREATE TABLE "batch_steps" (
	"batch_id" uuid NOT NULL,
	"position" smallint NOT NULL,
	"number" smallint NOT NULL,
	"request" jsonb NOT NULL,
	"role" text NOT NULL,
	"max_price_usd" double precision,
	"source_job_id" uuid,
	"begun_at" timestamp (3) with time zone,
	"stopped_code" text,
	"stopped_message" text,
	CONSTRAINT "batch_steps_batch_id_position_number_pk" PRIMARY KEY("batch_id","position","number")
);
--> statement-breakpoint
ALTER TABLE "batch_steps" ADD CONSTRAINT "batch_steps_batch_id_batches_id_fk" FOREIGN KEY ("batch_id") REFERENCES "public"."batches"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "batch_steps" ADD CONSTRAINT "batch_steps_source_job_id_jobs_id_fk" FOREIGN KEY ("source_job_id") REFERENCES "public"."jobs"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "batch_steps_left" ON "batch_steps" USING btree ("batch_id","position","number") WHERE "batch_steps"."begun_at" is null and "batch_steps"."stopped_code" is null;--> statement-breakpoint
CREATE INDEX "batch_steps_source" ON "batch_steps" USING btree ("source_job_id");