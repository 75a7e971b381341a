CREATE TABLE "engine_servers" (
	"node_id" uuid NOT NULL,
	"url" text NOT NULL,
	"engine" text NOT NULL,
	"label" text NOT NULL,
	"state" text NOT NULL,
	"device" text,
	"device_name" text,
	"vram_total_bytes" bigint,
	"vram_free_bytes" bigint,
	"version" text,
	"needs" text[] NOT NULL,
	"missing" jsonb NOT NULL,
	"queue_length" integer DEFAULT 0 NOT NULL,
	"running_job_id" uuid,
	"last_error" text,
	"sources" text[] NOT NULL,
	"probed_at" timestamp with time zone,
	"changed_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "engine_servers_node_id_url_pk" PRIMARY KEY("node_id","url")
);
--> statement-breakpoint
CREATE TABLE "figure_marks" (
	"name" text PRIMARY KEY NOT NULL,
	"until" timestamp with time zone NOT NULL
);
--> statement-breakpoint
INSERT INTO "figure_marks" ("name", "until") VALUES ('hours', 'epoch');
--> statement-breakpoint
CREATE TABLE "job_figures" (
	"at" timestamp with time zone NOT NULL,
	"queue" text NOT NULL,
	"measure" text NOT NULL,
	"bucket" smallint DEFAULT 0 NOT NULL,
	"count" integer NOT NULL,
	CONSTRAINT "job_figures_at_queue_measure_bucket_pk" PRIMARY KEY("at","queue","measure","bucket")
);
--> statement-breakpoint
CREATE TABLE "node_queues" (
	"node_id" uuid NOT NULL,
	"queue" text NOT NULL,
	"slots" integer NOT NULL,
	"needs" text[] NOT NULL,
	"seen_needs" text[] NOT NULL,
	CONSTRAINT "node_queues_node_id_queue_pk" PRIMARY KEY("node_id","queue")
);
--> statement-breakpoint
CREATE TABLE "node_workflows" (
	"node_id" uuid NOT NULL,
	"name" text NOT NULL,
	"hash" text NOT NULL,
	"manifest" jsonb NOT NULL,
	"graph" jsonb NOT NULL,
	CONSTRAINT "node_workflows_node_id_name_pk" PRIMARY KEY("node_id","name")
);
--> statement-breakpoint
CREATE TABLE "server_drains" (
	"url" text PRIMARY KEY NOT NULL,
	"requested_by" text,
	"requested_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
DROP INDEX "jobs_line";--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "need" text;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "placement" jsonb;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "estimate" jsonb;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "size_class" smallint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "owner_order" double precision DEFAULT extract(epoch from clock_timestamp()) * 1000 NOT NULL;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "input_count" smallint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "server" text;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "external_id" text;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "avoid" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
UPDATE "jobs" SET "need" = "engine" || '/' || "kind", "owner_order" = extract(epoch from "created_at") * 1000, "input_count" = (SELECT count(*) FROM "job_inputs" "i" WHERE "i"."job_id" = "jobs"."id");--> statement-breakpoint
ALTER TABLE "jobs" ALTER COLUMN "need" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "settings" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "problems" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "drain_requested" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "retire_requested" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "engine_servers" ADD CONSTRAINT "engine_servers_node_id_nodes_id_fk" FOREIGN KEY ("node_id") REFERENCES "public"."nodes"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "node_queues" ADD CONSTRAINT "node_queues_node_id_nodes_id_fk" FOREIGN KEY ("node_id") REFERENCES "public"."nodes"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "node_workflows" ADD CONSTRAINT "node_workflows_node_id_nodes_id_fk" FOREIGN KEY ("node_id") REFERENCES "public"."nodes"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "server_drains" ADD CONSTRAINT "server_drains_requested_by_users_id_fk" FOREIGN KEY ("requested_by") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "engine_servers_url" ON "engine_servers" USING btree ("url");--> statement-breakpoint
CREATE INDEX "node_queues_queue" ON "node_queues" USING btree ("queue");--> statement-breakpoint
CREATE INDEX "jobs_runs" ON "jobs" USING btree ("need","ended_at") WHERE "jobs"."status" = 'completed';--> statement-breakpoint
CREATE INDEX "jobs_ended" ON "jobs" USING btree ("ended_at");--> statement-breakpoint
CREATE INDEX "jobs_unfinished" ON "jobs" USING btree ("status","id") WHERE "jobs"."status" in ('failed', 'cancelled');--> statement-breakpoint
CREATE INDEX "nodes_seen" ON "nodes" USING btree ("seen_at");--> statement-breakpoint
CREATE INDEX "jobs_line" ON "jobs" USING btree ("queue","tier","owner_id","owner_order","id") WHERE "jobs"."status" = 'pending';--> statement-breakpoint
ALTER TABLE "nodes" DROP COLUMN "queues";--> statement-breakpoint
ALTER TABLE "nodes" DROP COLUMN "slots";