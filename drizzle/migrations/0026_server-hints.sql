ALTER TABLE "engine_servers" ADD COLUMN "tight_needs" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "engine_servers" ADD COLUMN "models" text[] DEFAULT '{}' NOT NULL;