CREATE TABLE "description_tries" (
	"image_id" uuid PRIMARY KEY NOT NULL,
	"model" text NOT NULL,
	"tries" smallint NOT NULL,
	"due_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "assistant_settings" ADD COLUMN "describes_pictures" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "description_tries" ADD CONSTRAINT "description_tries_image_id_images_id_fk" FOREIGN KEY ("image_id") REFERENCES "public"."images"("id") ON DELETE cascade ON UPDATE no action;