ALTER TABLE "users" ADD COLUMN "locale" text;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "browser_locale" text;--> statement-breakpoint
ALTER TABLE "users" ADD CONSTRAINT "users_locale_length" CHECK (char_length("users"."locale") <= 35);--> statement-breakpoint
ALTER TABLE "users" ADD CONSTRAINT "users_browser_locale_length" CHECK (char_length("users"."browser_locale") <= 35);