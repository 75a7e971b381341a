CREATE INDEX "jobs_line_tried" ON "jobs" USING btree ("queue","id") WHERE "jobs"."status" = 'pending' and "jobs"."attempt" > 0;
