CREATE TABLE "model_notes" (
	"model" text NOT NULL,
	"address" text NOT NULL,
	"refused" text[] DEFAULT '{}' NOT NULL,
	"read_tokens" integer,
	"sent_tokens" integer,
	"noted_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "model_notes_model_address_pk" PRIMARY KEY("model","address")
);
--> statement-breakpoint
ALTER TABLE "assistant_runs" ADD COLUMN "thinking" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "assistant_settings" ADD COLUMN "time_zone" text;