CREATE TABLE "duplicate_pairs" (
	"image_id" uuid NOT NULL,
	"twin_id" uuid NOT NULL,
	"owner_id" text NOT NULL,
	"dismissed_at" timestamp (3) with time zone,
	CONSTRAINT "duplicate_pairs_image_id_twin_id_pk" PRIMARY KEY("image_id","twin_id")
);
--> statement-breakpoint
CREATE TABLE "likenesses" (
	"image_id" uuid PRIMARY KEY NOT NULL,
	"owner_id" text NOT NULL,
	"hash" bigint,
	"compared_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "duplicate_pairs" ADD CONSTRAINT "duplicate_pairs_image_id_images_id_fk" FOREIGN KEY ("image_id") REFERENCES "public"."images"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "duplicate_pairs" ADD CONSTRAINT "duplicate_pairs_twin_id_images_id_fk" FOREIGN KEY ("twin_id") REFERENCES "public"."images"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "duplicate_pairs" ADD CONSTRAINT "duplicate_pairs_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "likenesses" ADD CONSTRAINT "likenesses_image_id_images_id_fk" FOREIGN KEY ("image_id") REFERENCES "public"."images"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "likenesses" ADD CONSTRAINT "likenesses_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "duplicate_pairs_twin" ON "duplicate_pairs" USING btree ("twin_id");--> statement-breakpoint
CREATE INDEX "duplicate_pairs_owner" ON "duplicate_pairs" USING btree ("owner_id") WHERE "duplicate_pairs"."dismissed_at" is null;--> statement-breakpoint
CREATE INDEX "likenesses_open" ON "likenesses" USING btree ("image_id") WHERE "likenesses"."compared_at" is null;--> statement-breakpoint
CREATE INDEX "likenesses_open_owner" ON "likenesses" USING btree ("owner_id","image_id") WHERE "likenesses"."compared_at" is null;--> statement-breakpoint
CREATE INDEX "likenesses_part_1" ON "likenesses" USING btree ("owner_id",(("hash" >> 48) & 65535));--> statement-breakpoint
CREATE INDEX "likenesses_part_2" ON "likenesses" USING btree ("owner_id",(("hash" >> 32) & 65535));--> statement-breakpoint
CREATE INDEX "likenesses_part_3" ON "likenesses" USING btree ("owner_id",(("hash" >> 16) & 65535));--> statement-breakpoint
CREATE INDEX "likenesses_part_4" ON "likenesses" USING btree ("owner_id",("hash" & 65535));--> statement-breakpoint
-- Its body is in server/db/functions/triggers.sql, which is applied after the migrations.
create function await_likeness() returns trigger language plpgsql as $$ begin return null; end $$;
--> statement-breakpoint
create trigger images_await_likeness after insert on images
for each row when (new.role <> 'mask') execute function await_likeness();
