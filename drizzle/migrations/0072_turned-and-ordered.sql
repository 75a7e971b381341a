CREATE INDEX "images_best" ON "images" USING btree ("owner_id","rating","created_at","id") WHERE "images"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "images_largest" ON "images" USING btree ("owner_id","size_bytes","id") WHERE "images"."deleted_at" is null;--> statement-breakpoint
-- Its body is in server/db/functions/triggers.sql, which is applied after the migrations.
create function keep_places() returns trigger language plpgsql as $$ begin return null; end $$;
--> statement-breakpoint
create trigger images_keep_places after insert on images
for each row when (new.role = 'result' and new.job_id is not null) execute function keep_places();
