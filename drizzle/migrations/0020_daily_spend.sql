CREATE TABLE "daily_spend" (
	"day" date NOT NULL,
	"owner_id" text,
	"usd" double precision NOT NULL
);
--> statement-breakpoint
ALTER TABLE "studio" ADD COLUMN "spend_summed_until" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "daily_spend" ADD CONSTRAINT "daily_spend_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "daily_spend_day" ON "daily_spend" USING btree ("day");--> statement-breakpoint
CREATE INDEX "daily_spend_owner" ON "daily_spend" USING btree ("owner_id");