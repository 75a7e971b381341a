ALTER TABLE "jobs" ADD COLUMN "agreed" jsonb;
