CREATE TABLE "presets" (
	"id" uuid PRIMARY KEY NOT NULL,
	"owner_id" text,
	"type" text NOT NULL,
	"name" text NOT NULL,
	"key" text NOT NULL,
	"content" jsonb NOT NULL,
	"removed_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "template" jsonb;--> statement-breakpoint
ALTER TABLE "presets" ADD CONSTRAINT "presets_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "presets_name" ON "presets" USING btree (coalesce("owner_id", ''),"type","key") WHERE "presets"."removed_at" is null;--> statement-breakpoint
CREATE INDEX "presets_owner" ON "presets" USING btree ("owner_id");