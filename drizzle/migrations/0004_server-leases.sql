CREATE TABLE "server_leases" (
	"url" text PRIMARY KEY NOT NULL,
	"token" uuid NOT NULL,
	"node_id" uuid NOT NULL,
	"job_id" uuid NOT NULL,
	"taken_at" timestamp with time zone DEFAULT now() NOT NULL,
	"free_at" timestamp with time zone
);
