CREATE TABLE "board_images" (
	"board_id" uuid NOT NULL,
	"image_id" uuid NOT NULL,
	"added_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "board_images_board_id_image_id_pk" PRIMARY KEY("board_id","image_id")
);
--> statement-breakpoint
CREATE TABLE "board_members" (
	"board_id" uuid NOT NULL,
	"user_id" text NOT NULL,
	"right" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "board_members_board_id_user_id_pk" PRIMARY KEY("board_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "boards" (
	"id" uuid PRIMARY KEY NOT NULL,
	"owner_id" text NOT NULL,
	"name" text NOT NULL,
	"key" text NOT NULL,
	"search" text,
	"removed_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "image_tags" (
	"tag_id" uuid NOT NULL,
	"image_id" uuid NOT NULL,
	CONSTRAINT "image_tags_tag_id_image_id_pk" PRIMARY KEY("tag_id","image_id")
);
--> statement-breakpoint
CREATE TABLE "tags" (
	"id" uuid PRIMARY KEY NOT NULL,
	"owner_id" text NOT NULL,
	"name" text NOT NULL,
	"key" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "images" ADD COLUMN "search_key" text;--> statement-breakpoint
ALTER TABLE "images" ADD COLUMN "rating" smallint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "board_images" ADD CONSTRAINT "board_images_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "board_images" ADD CONSTRAINT "board_images_image_id_images_id_fk" FOREIGN KEY ("image_id") REFERENCES "public"."images"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "board_members" ADD CONSTRAINT "board_members_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "board_members" ADD CONSTRAINT "board_members_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "boards" ADD CONSTRAINT "boards_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "image_tags" ADD CONSTRAINT "image_tags_tag_id_tags_id_fk" FOREIGN KEY ("tag_id") REFERENCES "public"."tags"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "image_tags" ADD CONSTRAINT "image_tags_image_id_images_id_fk" FOREIGN KEY ("image_id") REFERENCES "public"."images"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tags" ADD CONSTRAINT "tags_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "board_images_image" ON "board_images" USING btree ("image_id");--> statement-breakpoint
CREATE INDEX "board_members_user" ON "board_members" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "boards_owner" ON "boards" USING btree ("owner_id","key");--> statement-breakpoint
CREATE INDEX "image_tags_image" ON "image_tags" USING btree ("image_id");--> statement-breakpoint
CREATE UNIQUE INDEX "tags_key" ON "tags" USING btree ("owner_id","key");--> statement-breakpoint
CREATE INDEX "images_made" ON "images" USING btree ("owner_id","created_at","id") WHERE "images"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "images_trash" ON "images" USING btree ("owner_id","created_at","id") WHERE "images"."deleted_at" is not null;--> statement-breakpoint
CREATE INDEX "images_starred" ON "images" USING btree ("owner_id","created_at") WHERE "images"."starred" and "images"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "images_rated" ON "images" USING btree ("owner_id","rating") WHERE "images"."rating" > 0 and "images"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "images_unkeyed" ON "images" USING btree ("owner_id","id") WHERE "images"."search_key" is null;--> statement-breakpoint
ALTER TABLE "images" ADD CONSTRAINT "images_rating" CHECK ("images"."rating" between 0 and 5);--> statement-breakpoint
-- Parts of texts are found without this index too, but slowly in large libraries; `atelier doctor` says when it is missing.
DO $$ BEGIN
  CREATE EXTENSION IF NOT EXISTS pg_trgm;
  CREATE EXTENSION IF NOT EXISTS btree_gin;
  CREATE INDEX images_found ON images USING gin (owner_id, search_key gin_trgm_ops) WHERE deleted_at IS NULL;
EXCEPTION WHEN insufficient_privilege OR feature_not_supported OR undefined_file OR undefined_object THEN
  RAISE NOTICE 'the search index was not made: %', sqlerrm;
END $$;
