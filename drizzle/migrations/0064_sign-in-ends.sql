ALTER TABLE "passkeys" ADD COLUMN "rp_id" text;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "session_ends" integer DEFAULT 0 NOT NULL;