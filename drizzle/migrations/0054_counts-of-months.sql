CREATE TABLE "month_counts" (
	"owner_id" text NOT NULL,
	"month" date NOT NULL,
	"pictures" integer NOT NULL,
	CONSTRAINT "month_counts_owner_id_month_pk" PRIMARY KEY("owner_id","month")
);
--> statement-breakpoint
CREATE TABLE "stack_changes" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"owner_id" text NOT NULL,
	"stack_id" uuid NOT NULL
);
--> statement-breakpoint
CREATE TABLE "stack_months" (
	"owner_id" text NOT NULL,
	"stack_id" uuid NOT NULL,
	"month" date NOT NULL,
	CONSTRAINT "stack_months_owner_id_stack_id_pk" PRIMARY KEY("owner_id","stack_id")
);
--> statement-breakpoint
ALTER TABLE "month_counts" ADD CONSTRAINT "month_counts_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "stack_changes" ADD CONSTRAINT "stack_changes_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "stack_months" ADD CONSTRAINT "stack_months_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "stack_changes_owner" ON "stack_changes" USING btree ("owner_id");--> statement-breakpoint
-- Its body is in server/db/functions/triggers.sql, which is applied after the migrations.
create function note_stack_change() returns trigger language plpgsql as $$ begin return null; end $$;
--> statement-breakpoint
create trigger images_note_stack after insert on images
for each row when (new.role <> 'mask') execute function note_stack_change();
--> statement-breakpoint
create trigger images_note_other_stack after update of owner_id, role, stack_id, created_at, deleted_at on images
for each row when ((old.owner_id, old.role, old.stack_id, old.created_at, old.deleted_at)
  is distinct from (new.owner_id, new.role, new.stack_id, new.created_at, new.deleted_at)) execute function note_stack_change();
--> statement-breakpoint
create trigger images_note_lost_stack after delete on images
for each row when (old.deleted_at is null and old.role <> 'mask') execute function note_stack_change();
