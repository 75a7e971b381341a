CREATE TABLE "audit_entries" (
	"id" uuid PRIMARY KEY NOT NULL,
	"at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"kind" text NOT NULL,
	"outcome" text DEFAULT 'ok' NOT NULL,
	"actor" text NOT NULL,
	"actor_id" text,
	"key_id" text,
	"person_id" text,
	"object_id" text,
	"address" text,
	"request_id" text,
	"details" jsonb DEFAULT '{}'::jsonb NOT NULL,
	CONSTRAINT "audit_entries_kind_length" CHECK (char_length("audit_entries"."kind") between 1 and 80),
	CONSTRAINT "audit_entries_details_length" CHECK (char_length("audit_entries"."details"::text) <= 4000)
);
--> statement-breakpoint
CREATE INDEX "audit_entries_at" ON "audit_entries" USING btree ("at");--> statement-breakpoint
CREATE INDEX "audit_entries_actor" ON "audit_entries" USING btree ("actor_id","id");--> statement-breakpoint
CREATE INDEX "audit_entries_person" ON "audit_entries" USING btree ("person_id","id");--> statement-breakpoint
CREATE INDEX "audit_entries_kind" ON "audit_entries" USING btree ("kind" text_pattern_ops,"id");--> statement-breakpoint
-- Its body is in server/db/functions/triggers.sql, which is applied after the migrations.
create function keep_audit_entries() returns trigger language plpgsql as $$ begin return null; end $$;
--> statement-breakpoint
create trigger audit_entries_append_only before update or delete on audit_entries
  for each row execute function keep_audit_entries();
--> statement-breakpoint
create trigger audit_entries_not_truncated before truncate on audit_entries
  for each statement execute function keep_audit_entries();
