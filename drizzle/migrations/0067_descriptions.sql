ALTER TABLE "images" ADD COLUMN "description" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "images" ADD COLUMN "described_by" text;--> statement-breakpoint
-- Not valid, so that no row is read while others wait for the table: all of them have the default.
ALTER TABLE "images" ADD CONSTRAINT "images_description_length" CHECK (char_length("images"."description") <= 2000) NOT VALID;--> statement-breakpoint
ALTER TABLE "images" ADD CONSTRAINT "images_described_by" CHECK ("images"."described_by" in ('file', 'model', 'owner')) NOT VALID;--> statement-breakpoint
create or replace trigger images_forget_search_text before update of title, description on images for each row
  when ((old.title, old.description) is distinct from (new.title, new.description)) execute function forget_search_text();
