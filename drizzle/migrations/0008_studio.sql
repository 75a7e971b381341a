CREATE TABLE "studio" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"store_mark" text,
	"orphans_swept_at" timestamp with time zone,
	CONSTRAINT "studio_one_row" CHECK ("studio"."id" = 1)
);
