CREATE TABLE "signing_keys" (
	"fingerprint" text PRIMARY KEY NOT NULL,
	"certificates" text NOT NULL,
	"sealed_key" text,
	"sealed_by" text,
	"made_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "signing_keys_sealed_by_unique" UNIQUE("sealed_by"),
	CONSTRAINT "signing_keys_sealed" CHECK (("signing_keys"."sealed_key" is null) = ("signing_keys"."sealed_by" is null))
);
