CREATE TABLE "wardrobe_items" (
	"id" uuid PRIMARY KEY NOT NULL,
	"owner_id" text NOT NULL,
	"image_id" uuid NOT NULL,
	"cut_out_job_id" uuid,
	"what" text NOT NULL,
	"category" text,
	"name" text DEFAULT '' NOT NULL,
	"tags" text[] NOT NULL,
	"removed_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "wardrobe_items" ADD CONSTRAINT "wardrobe_items_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "wardrobe_items" ADD CONSTRAINT "wardrobe_items_image_id_images_id_fk" FOREIGN KEY ("image_id") REFERENCES "public"."images"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "wardrobe_items" ADD CONSTRAINT "wardrobe_items_cut_out_job_id_jobs_id_fk" FOREIGN KEY ("cut_out_job_id") REFERENCES "public"."jobs"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "wardrobe_items_image" ON "wardrobe_items" USING btree ("image_id");--> statement-breakpoint
CREATE INDEX "wardrobe_items_cut_out" ON "wardrobe_items" USING btree ("cut_out_job_id");--> statement-breakpoint
CREATE INDEX "wardrobe_items_owner" ON "wardrobe_items" USING btree ("owner_id","created_at","id");