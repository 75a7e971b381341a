import { mkdir, writeFile } from "node:fs/promises";
import { createTestDatabase } from "@atelier/testing/postgres";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openDatabase } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import { classifyError, withVisitor } from "./requests.ts";

let database: Awaited<ReturnType<typeof createTestDatabase>>;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const open = (url: string) => openDatabase({ url, applicationName: "test", maxConnections: 1 });

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

test.each(["postgres://127.0.0.1:1/absent", "postgres://absent.invalid/absent"])(
  "a query and a transaction on %s find the database away",
  async (url) => {
    const away = open(url);
    const failures = [
      await failureOf(away.db.execute(sql`select 1`)),
      await failureOf(away.db.transaction((tx) => tx.execute(sql`select 1`))),
    ];
    expect(failures.map((error) => classifyError(error).code)).toEqual([
      "database_unavailable",
      "database_unavailable",
    ]);
    await away.close();
  },
);

test("a query and a transaction that get no connection of a full pool find the database away", async () => {
  const full = open(database.url);
  const held = Promise.withResolvers<void>();
  const holding = full.db.transaction(async (tx) => {
    await tx.execute(sql`select 1`);
    await held.promise;
  });
  const failures = await Promise.all([
    failureOf(full.db.execute(sql`select 1`)),
    failureOf(full.db.transaction((tx) => tx.execute(sql`select 1`))),
    failureOf(full.db.execute(sql`create table given_up (n int)`)),
  ]);
  held.resolve();
  await holding;
  // A statement that failed so must not run afterwards.
  expect(await full.db.execute(sql`select to_regclass('given_up') as "table"`)).toEqual([{ table: null }]);
  expect(failures.map((error) => classifyError(error).code)).toEqual([
    "database_unavailable",
    "database_unavailable",
    "database_unavailable",
  ]);
  await full.close();
});

test("a wrong statement, a folder that is not there and an unknown error are internal", async () => {
  const own = open(database.url);
  const failures = [
    await failureOf(own.db.execute(sql`select nothing from nowhere`)),
    await failureOf(mkdir("/dev/null/absent")),
    new Error("unknown"),
  ];
  expect(failures.map((error) => classifyError(error).code)).toEqual(["internal", "internal", "internal"]);
  await own.close();
});

test("a full disk is the storage that is away, also below other errors", async () => {
  const full = await failureOf(writeFile("/dev/full", "x"));
  for (const error of [full, new Error("outer", { cause: full })])
    expect(classifyError(error).code).toBe("storage_unavailable");
});

test("an error of the product stays what it is, however deep it lies", () => {
  const deep = new Error("outer", { cause: new AppError("queue_full") });
  expect(classifyError(deep).code).toBe("queue_full");
});

test("S1 of several addresses functions take the one that the platform added, with the body and all else of the request", async () => {
  const sent = () =>
    new Request("http://studio.test/api", {
      method: "POST",
      body: "text",
      headers: { "x-forwarded-for": "203.0.113.9, 198.51.100.7, 10.0.3.4", "x-other": "kept" },
    });
  const asFunction = withVisitor({ FUNCTION_SECONDS: 60, TRUSTED_PROXIES: ["10.0.0.0/8"] }, sent());
  expect(asFunction.headers.get("x-forwarded-for")).toBe("198.51.100.7");
  expect([asFunction.method, asFunction.headers.get("x-other"), await asFunction.text()]).toEqual([
    "POST",
    "kept",
    "text",
  ]);
  const behindFrontDoor = sent();
  expect(withVisitor({ FUNCTION_SECONDS: undefined, TRUSTED_PROXIES: [] }, behindFrontDoor)).toBe(
    behindFrontDoor,
  );
});
