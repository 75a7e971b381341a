CREATE TABLE "recall_vectors" (
	"id" uuid PRIMARY KEY NOT NULL,
	"owner_id" text NOT NULL,
	"kind" text NOT NULL,
	"model" text NOT NULL,
	"dimensions" integer NOT NULL,
	"codes" "bytea" NOT NULL,
	"from_at" timestamp (3) with time zone NOT NULL,
	"to_at" timestamp (3) with time zone NOT NULL,
	"revision" bigserial NOT NULL
);
--> statement-breakpoint
ALTER TABLE "studio" ADD COLUMN "embedding_until" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "recall_vectors" ADD CONSTRAINT "recall_vectors_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "recall_vectors_owner" ON "recall_vectors" USING btree ("owner_id","model","revision");
--> statement-breakpoint
-- The vector of a row that is deleted, changed, given to another user or recalled no more goes with it, whoever does it.
create function drop_deleted_vectors() returns trigger language plpgsql as $$
begin
  delete from recall_vectors where id in (select id from gone);
  return null;
end $$;
--> statement-breakpoint
create function drop_old_vector() returns trigger language plpgsql as $$
begin
  delete from recall_vectors where id = old.id;
  return null;
end $$;
--> statement-breakpoint
create trigger assistant_messages_deleted after delete on assistant_messages
  referencing old table as gone for each statement execute function drop_deleted_vectors();
--> statement-breakpoint
create trigger assistant_messages_changed after update of text, is_recalled, owner_id on assistant_messages
  for each row when (old.text <> new.text or old.owner_id <> new.owner_id or old.is_recalled and not new.is_recalled)
  execute function drop_old_vector();
--> statement-breakpoint
create trigger memories_deleted after delete on memories
  referencing old table as gone for each statement execute function drop_deleted_vectors();
--> statement-breakpoint
create trigger memories_changed after update of summary, owner_id on memories
  for each row when (old.summary <> new.summary or old.owner_id <> new.owner_id)
  execute function drop_old_vector();
