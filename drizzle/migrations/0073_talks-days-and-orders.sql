ALTER TABLE "images" ADD COLUMN "undated_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "boards" ADD COLUMN "place" integer;--> statement-breakpoint
ALTER TABLE "assistant_conversations" ADD COLUMN "pinned_at" timestamp (3) with time zone;--> statement-breakpoint
-- Stems as PostgreSQL finds beginnings of words in them. What is longer than it takes (an endless word, a very long text) is cut.
create function recall_words(p_terms text[]) returns tsvector language plpgsql immutable parallel safe set search_path = pg_catalog, public as $$
begin
  return array_to_tsvector(p_terms);
exception when program_limit_exceeded then
  return array_to_tsvector(array(select left(term, 200) from unnest(p_terms[1:1000]) as term));
end
$$;
--> statement-breakpoint
CREATE INDEX "assistant_conversations_words" ON "assistant_conversations" USING gin (recall_words(recall_terms("owner_id", "title")));--> statement-breakpoint
CREATE INDEX "assistant_messages_words" ON "assistant_messages" USING gin (recall_words("terms")) WITH (fastupdate=false);