-- Questions that lost their third worker kept what they were given.
UPDATE "assistant_runs" SET "context" = "context" || '{"instructions": "", "messages": []}'::jsonb
WHERE "status" IN ('completed', 'failed')
  AND ("context" ->> 'instructions' <> '' OR "context" -> 'messages' <> '[]'::jsonb);
