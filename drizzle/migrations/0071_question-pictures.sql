ALTER TABLE "assistant_messages" ADD COLUMN "image_ids" uuid[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "assistant_messages" ADD COLUMN "images_to" text;