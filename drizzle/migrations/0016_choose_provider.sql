ALTER TABLE "telegram_requests" ADD COLUMN "offer" jsonb;--> statement-breakpoint
ALTER TABLE "telegram_requests" ADD COLUMN "offer_until" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "provider_attempts_ended" ON "provider_attempts" USING btree ("provider","key_id","ended_at");
