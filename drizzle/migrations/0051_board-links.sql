ALTER TABLE "links" ADD COLUMN "board_id" uuid;--> statement-breakpoint
ALTER TABLE "links" ADD CONSTRAINT "links_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "links_board" ON "links" USING btree ("board_id");