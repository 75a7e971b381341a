CREATE TABLE "edit_masks" (
	"edit_id" uuid NOT NULL,
	"image_id" uuid NOT NULL,
	CONSTRAINT "edit_masks_edit_id_image_id_pk" PRIMARY KEY("edit_id","image_id")
);
--> statement-breakpoint
CREATE TABLE "edits" (
	"id" uuid PRIMARY KEY NOT NULL,
	"owner_id" text NOT NULL,
	"image_id" uuid NOT NULL,
	"version_ids" uuid[] NOT NULL,
	"state" jsonb NOT NULL,
	"revision" integer DEFAULT 1 NOT NULL,
	"writer" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "images" ADD COLUMN "stack_id" uuid;--> statement-breakpoint
ALTER TABLE "edit_masks" ADD CONSTRAINT "edit_masks_edit_id_edits_id_fk" FOREIGN KEY ("edit_id") REFERENCES "public"."edits"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "edit_masks" ADD CONSTRAINT "edit_masks_image_id_images_id_fk" FOREIGN KEY ("image_id") REFERENCES "public"."images"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "edits" ADD CONSTRAINT "edits_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "edits" ADD CONSTRAINT "edits_image_id_images_id_fk" FOREIGN KEY ("image_id") REFERENCES "public"."images"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "edit_masks_image" ON "edit_masks" USING btree ("image_id");--> statement-breakpoint
CREATE UNIQUE INDEX "edits_image" ON "edits" USING btree ("image_id");--> statement-breakpoint
CREATE INDEX "edits_owner" ON "edits" USING btree ("owner_id","updated_at","id");--> statement-breakpoint
CREATE INDEX "images_stack" ON "images" USING btree ("owner_id",coalesce("stack_id", "id"),"id") WHERE "images"."deleted_at" is null;--> statement-breakpoint
-- Pictures from before: those of a batch that were made of no other picture, then what was made of a picture, by the first of its line.
update images set stack_id = place.batch_id from batch_jobs place
where place.job_id = images.job_id and images.role = 'result'
  and not exists (select from job_inputs link where link.job_id = images.job_id and link.role = 'image');
--> statement-breakpoint
with recursive made as (
  select result.id, link.image_id as source_id from images result
  join job_inputs link on link.job_id = result.job_id and link.role = 'image' where result.role = 'result'
), line as (
  select id, source_id, 1 as length from made
  union all
  select line.id, made.source_id, length + 1 from line join made on made.id = line.source_id
), first as (select distinct on (id) id, source_id from line order by id, length desc)
update images set stack_id = coalesce(root.stack_id, root.id) from first join images root on root.id = first.source_id
where images.id = first.id;
--> statement-breakpoint
-- Its body is in server/db/functions/triggers.sql, which is applied after the migrations.
create function put_on_stack() returns trigger language plpgsql as $$ begin return new; end $$;
--> statement-breakpoint
create trigger images_put_on_stack before insert on images
for each row when (new.role = 'result' and new.job_id is not null) execute function put_on_stack();
