import pg from "pg";
import { afterEach, expect, test } from "vitest";
import {
  createTestDatabase,
  startPrivatePostgres,
  type PrivatePostgres,
  type TestDatabase,
} from "./index.ts";

const open: TestDatabase[] = [];
let server: PrivatePostgres | null = null;

afterEach(async () => {
  await Promise.all(open.splice(0).map((database) => database.drop()));
  await server?.destroy();
  server = null;
});

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

test("each test database is migrated and sees nothing of another", async () => {
  open.push(...(await Promise.all([createTestDatabase(), createTestDatabase()])));
  const [first, second] = open.map((database) => database.url);
  await query(first ?? "", "CREATE TABLE mark (n int)");
  const tables = "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'";
  const names = (await query(second ?? "", tables)).map((row) => Object(row).name);
  expect(names).toContain("jobs");
  expect(names).not.toContain("mark");
});

test("a private server keeps every acknowledged row over kill -9 and restart", async () => {
  server = await startPrivatePostgres();
  await query(server.url, "CREATE TABLE mark (n int)");
  await query(server.url, "INSERT INTO mark SELECT generate_series(1, 5000)");
  await server.kill9();
  await expect(query(server.url, "SELECT 1")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  await server.start();
  expect(await query(server.url, "SELECT count(*)::int AS n FROM mark")).toEqual([{ n: 5000 }]);
  await server.stop();
  await server.start();
  expect(await query(server.url, "SELECT count(*)::int AS n FROM mark")).toEqual([{ n: 5000 }]);
});
