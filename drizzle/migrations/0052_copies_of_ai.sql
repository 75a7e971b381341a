ALTER TABLE "images" ADD COLUMN "copy_of_ai" boolean DEFAULT false NOT NULL;--> statement-breakpoint
UPDATE "images" SET "copy_of_ai" = true FROM "images" AS "made" WHERE "images"."role" = 'upload' AND "made"."role" <> 'upload'
  AND "made"."job_id" IS NOT NULL AND NOT "made"."nothing_generated" AND "made"."stored_sha256" = "images"."upload_sha256";
