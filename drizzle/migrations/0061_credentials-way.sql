-- A process of the version before may add a double until the index is there.
LOCK TABLE "credentials" IN SHARE ROW EXCLUSIVE MODE;--> statement-breakpoint
-- Of ways in that are stored twice the one used last stays.
DELETE FROM "credentials" c USING "credentials" o
WHERE o."provider_id" = c."provider_id" AND o."account_id" = c."account_id"
  AND (o."updated_at" > c."updated_at" OR (o."updated_at" = c."updated_at" AND o."id" < c."id"));--> statement-breakpoint
CREATE UNIQUE INDEX "credentials_way" ON "credentials" USING btree ("provider_id","account_id");