-- Older versions may still write: the lock keeps new rows from breaking the constraints below.
LOCK TABLE "users" IN ACCESS EXCLUSIVE MODE;--> statement-breakpoint
UPDATE "users" SET "name" = left("name", 100) WHERE char_length("name") > 100;--> statement-breakpoint
UPDATE "users" SET "image" = NULL WHERE "image" IS NOT NULL;--> statement-breakpoint
UPDATE "users" SET "ban_reason" = left("ban_reason", 1000) WHERE char_length("ban_reason") > 1000;--> statement-breakpoint
-- No mail server takes such an address.
UPDATE "users" SET "email" = 'too-long-' || "id" || '@atelier.invalid' WHERE char_length("email") > 254;--> statement-breakpoint
-- Only the product gives the role 'service'. An account that merely has the address of the workers' account keeps its own role.
UPDATE "users" SET "role" = 'user', "banned" = true WHERE "role" = 'service' AND "id" <> (
	SELECT "id" FROM "users" WHERE "role" = 'service' ORDER BY "email" = 'workers@atelier.invalid' DESC, "created_at", "id" LIMIT 1
);--> statement-breakpoint
UPDATE "api_keys" SET "name" = left("name", 100) WHERE char_length("name") > 100;--> statement-breakpoint
UPDATE "images" SET "title" = left("title", 120) WHERE char_length("title") > 120;--> statement-breakpoint
DELETE FROM "idempotency_keys" WHERE char_length("key") > 300;--> statement-breakpoint
UPDATE "nodes" SET "name" = left("name", 300) WHERE char_length("name") > 300;--> statement-breakpoint
CREATE UNIQUE INDEX "users_service" ON "users" USING btree ("role") WHERE "users"."role" = 'service';--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_name_length" CHECK (char_length("api_keys"."name") <= 100);--> statement-breakpoint
ALTER TABLE "users" ADD CONSTRAINT "users_name_length" CHECK (char_length("users"."name") <= 100);--> statement-breakpoint
ALTER TABLE "users" ADD CONSTRAINT "users_email_length" CHECK (char_length("users"."email") <= 254);--> statement-breakpoint
ALTER TABLE "users" ADD CONSTRAINT "users_image_none" CHECK ("users"."image" is null);--> statement-breakpoint
ALTER TABLE "users" ADD CONSTRAINT "users_ban_reason_length" CHECK (char_length("users"."ban_reason") <= 1000);--> statement-breakpoint
ALTER TABLE "images" ADD CONSTRAINT "images_title_length" CHECK (char_length("images"."title") <= 120);--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_key_length" CHECK (char_length("idempotency_keys"."key") <= 300);--> statement-breakpoint
ALTER TABLE "nodes" ADD CONSTRAINT "nodes_name_length" CHECK (char_length("nodes"."name") <= 300);