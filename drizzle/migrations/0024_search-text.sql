ALTER TABLE "images" ADD COLUMN "search_text" text;--> statement-breakpoint
CREATE INDEX "images_unfilled_search" ON "images" USING btree ("owner_id","id") WHERE "images"."search_text" is null;--> statement-breakpoint
-- A process of an older version changes a title without the search text: then it is filled again.
create function forget_search_text() returns trigger language plpgsql as $$
begin
  new.search_text := null;
  return new;
end
$$;--> statement-breakpoint
create trigger images_forget_search_text before update of title on images for each row
  when (old.title is distinct from new.title) execute function forget_search_text();
