ALTER TABLE "users" ADD COLUMN "self_made" boolean DEFAULT false NOT NULL;
