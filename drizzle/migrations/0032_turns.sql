CREATE TABLE "turns" (
	"name" text PRIMARY KEY NOT NULL,
	"token" uuid,
	"held_until" timestamp (3) with time zone,
	"due_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"began_at" timestamp (3) with time zone,
	"done_at" timestamp (3) with time zone,
	"took_ms" integer,
	"failures" integer DEFAULT 0 NOT NULL,
	"error" text,
	"failed_at" timestamp (3) with time zone
);
--> statement-breakpoint
-- A day after the last sweep of the store; the other turns may begin at once.
INSERT INTO "turns" ("name", "due_at")
SELECT 'orphaned objects', "orphans_swept_at" + interval '1 day' FROM "studio" WHERE "orphans_swept_at" IS NOT NULL;
