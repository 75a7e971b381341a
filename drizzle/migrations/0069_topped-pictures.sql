ALTER TABLE "images" ADD COLUMN "topped_at" timestamp with time zone;--> statement-breakpoint
create or replace trigger images_note_other_stack after update of owner_id, role, stack_id, created_at, deleted_at, topped_at on images
for each row when ((old.owner_id, old.role, old.stack_id, old.created_at, old.deleted_at, old.topped_at)
  is distinct from (new.owner_id, new.role, new.stack_id, new.created_at, new.deleted_at, new.topped_at)) execute function note_stack_change();
