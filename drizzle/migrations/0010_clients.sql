CREATE TABLE "client_files" (
	"owner_id" text NOT NULL,
	"user_name" text NOT NULL,
	"file_name" text NOT NULL,
	"image_id" uuid NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "client_files_owner_id_user_name_file_name_pk" PRIMARY KEY("owner_id","user_name","file_name"),
	CONSTRAINT "client_files_user_name_length" CHECK (char_length("client_files"."user_name") <= 100),
	CONSTRAINT "client_files_file_name_length" CHECK (char_length("client_files"."file_name") <= 300)
);
--> statement-breakpoint
CREATE TABLE "client_users" (
	"user_id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "client_users_name_unique" UNIQUE("name"),
	CONSTRAINT "client_users_name_length" CHECK (char_length("client_users"."name") <= 100)
);
--> statement-breakpoint
CREATE TABLE "result_holds" (
	"job_id" uuid PRIMARY KEY NOT NULL,
	"token" uuid NOT NULL,
	"held_until" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "client_files" ADD CONSTRAINT "client_files_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "client_files" ADD CONSTRAINT "client_files_image_id_images_id_fk" FOREIGN KEY ("image_id") REFERENCES "public"."images"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "client_users" ADD CONSTRAINT "client_users_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "result_holds" ADD CONSTRAINT "result_holds_job_id_jobs_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."jobs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "client_files_image" ON "client_files" USING btree ("image_id");