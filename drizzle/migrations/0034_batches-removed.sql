ALTER TABLE "batches" ADD COLUMN "max_price_usd" double precision;--> statement-breakpoint
ALTER TABLE "batches" ADD COLUMN "deleted_at" timestamp (3) with time zone;