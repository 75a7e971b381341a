import { migrate } from "@atelier/server/db";
import pg from "pg";
import { expect, test } from "vitest";
import { createTestDatabase } from "./create-test-database.ts";

test("A1 a migration that another process holds up ends with a plain sentence, and runs when it is free", async () => {
  const database = await createTestDatabase();
  const holder = new pg.Client({ connectionString: database.url });
  await holder.connect();
  await holder.query("select pg_advisory_lock(742001)");
  await expect(migrate(database.url, { waitMs: 1 })).rejects.toThrow(/Another process is bringing/);
  await holder.end();
  await migrate(database.url);
  await database.drop();
});
