CREATE TABLE "direct_uploads" (
	"id" uuid PRIMARY KEY NOT NULL,
	"owner_id" text NOT NULL,
	"role" text NOT NULL,
	"name" text NOT NULL,
	"mime" text NOT NULL,
	"size_bytes" integer NOT NULL,
	"sha256" text,
	"image_id" uuid,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "direct_uploads_name_length" CHECK (char_length("direct_uploads"."name") <= 300)
);
--> statement-breakpoint
CREATE TABLE "studio" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"store_mark" text,
	"store_marked_at" timestamp with time zone,
	"orphans_swept_at" timestamp with time zone,
	CONSTRAINT "studio_one_row" CHECK ("studio"."id" = 1)
);
--> statement-breakpoint
ALTER TABLE "direct_uploads" ADD CONSTRAINT "direct_uploads_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "direct_uploads_owner" ON "direct_uploads" USING btree ("owner_id");--> statement-breakpoint
CREATE INDEX "direct_uploads_created" ON "direct_uploads" USING btree ("created_at");