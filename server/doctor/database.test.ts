import { randomUUID } from "node:crypto";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { createSecureContext, TLSSocket } from "node:tls";
import { symmetricEncrypt } from "better-auth/crypto";
import { eq, sql } from "drizzle-orm";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { testCertificate } from "@atelier/testing/network";
import { addUser } from "@atelier/testing/pictures";
import { createEmptyDatabase, createTestDatabase } from "@atelier/testing/postgres";
import { createTestServices } from "@atelier/testing/services";
import { schema } from "../db/index.ts";
import { retellFinding, wordsIn } from "../words.ts";
import { findSigner } from "../provenance/signing-key.ts";
import {
  checkDatabase,
  checkFactors,
  checkIdleLimit,
  checkOwnSigningKey,
  checkSearchIndex,
  checkTexts,
} from "./database.ts";
import { checkRights } from "./role.ts";

describe("check the database", () => {
  /** An ErrorResponse: severity, code and message, each with its letter. */
  function errorResponse(code: string, message: string): Buffer {
    const body = Buffer.from(`SFATAL\0C${code}\0M${message}\0\0`);
    const head = Buffer.alloc(5);
    head.write("E");
    head.writeInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  }

  /** Answers a start as PgBouncer does that does not know a parameter of it. */
  async function startRefusingPooler() {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", (start) => {
        const isRefused = start.includes("statement_timeout");
        const [code, message] = isRefused ? refusal : otherwise;
        socket.end(errorResponse(code, message));
      });
    });
    const refusal = ["08P01", "unsupported startup parameter: statement_timeout"] as const;
    const otherwise = ["28000", "the start named no limit"] as const;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    return { url: `postgres://user@127.0.0.1:${port}/db`, close: () => server.close() };
  }

  test("a pooler that refuses the product's limits shows, with what to set", async () => {
    const pooler = await startRefusingPooler();
    const result = await checkDatabase("DATABASE_URL", pooler.url);
    expect(result.isOk).toBe(false);
    expect(result.message).toContain(
      "ignore_startup_parameters = idle_in_transaction_session_timeout,statement_timeout",
    );
    pooler.close();
  });

  test("a database that wakes up at the first connections is waited for", async () => {
    const database = await createTestDatabase();
    const { hostname, port } = new URL(database.url);
    const first = [
      (socket: Socket) => void socket.destroy(),
      (socket: Socket) => void socket.end(errorResponse("57P03", "the database system is starting up")),
    ];
    const host = createServer((socket) => {
      socket.on("error", () => undefined);
      const begin = first.shift() ?? ((to: Socket) => void to.pipe(connect(Number(port), hostname)).pipe(to));
      socket.once("readable", () => begin(socket));
    });
    await new Promise<void>((resolve) => host.listen(0, "127.0.0.1", resolve));
    const url = new URL(database.url);
    url.hostname = "127.0.0.1";
    url.port = String((host.address() as AddressInfo).port);
    expect(await checkDatabase("DATABASE_URL", url.href)).toMatchObject({ isOk: true });
    expect(first).toEqual([]);
    host.close();
    await database.drop();
  });

  test("a running server passes with its version", async () => {
    const database = await createTestDatabase();
    expect(await checkDatabase("DATABASE_URL", database.url)).toMatchObject({
      isOk: true,
      message: expect.stringMatching(/^PostgreSQL \d+/),
    });
    await database.drop();
  });

  test("F19 a database that lets transactions stay idle for long passes with a warning that says what to set", async () => {
    const database = await createTestDatabase();
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const name = new URL(database.url).pathname.slice(1);
    const found = [];
    for (const limit of ["0", "301s", "300s"]) {
      await client.query(`alter database ${name} set idle_in_transaction_session_timeout = '${limit}'`);
      found.push(await checkIdleLimit(database.url));
    }
    const advice = expect.stringContaining(
      `ALTER DATABASE ${name} SET idle_in_transaction_session_timeout = '60s'`,
    );
    expect(found).toEqual([
      { name: "Idle transactions", isOk: true, isWarning: true, message: advice },
      { name: "Idle transactions", isOk: true, isWarning: true, message: advice },
      { name: "Idle transactions", isOk: true, message: "end after 300 s" },
    ]);
    await client.end();
    await database.drop();
  });

  test("texts that an older system sorted, and a database of another encoding, are told with what to do", async () => {
    const database = await createTestDatabase();
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const name = `test_${randomUUID().replaceAll("-", "")}`;
    const url = new URL(database.url);
    url.pathname = `/${name}`;
    await client.query(
      `create database ${name} encoding 'UTF8' locale_provider icu icu_locale 'de' locale 'C' template template0`,
    );
    expect(await checkTexts(url.href)).toEqual({
      name: "Database texts",
      isOk: true,
      message: "UTF8, sorted as the system sorts",
    });
    await client.query("update pg_database set datcollversion = '0.1' where datname = $1", [name]);
    const { message, isWarning } = await checkTexts(url.href);
    expect([isWarning, message]).toEqual([true, expect.stringContaining("by version 0.1 of")]);
    const [, commands = ""] = /twice; (.*)$/.exec(message) ?? [];
    const inside = new pg.Client({ connectionString: url.href });
    await inside.connect();
    for (const command of commands.split("; ")) await inside.query(command);
    await inside.end();
    expect(await checkTexts(url.href)).not.toHaveProperty("isWarning");
    const words = await wordsIn("de");
    expect(retellFinding(message, words)).toContain("Version 0.1");
    await client.query(`drop database ${name} with (force)`);
    await client.query(`create database ${name} encoding 'LATIN1' locale 'C' template template0`);
    const lacking = await checkTexts(url.href);
    expect(lacking).toMatchObject({ isOk: false, message: expect.stringContaining("LATIN1") });
    expect(retellFinding(lacking.message, words)).toContain("ENCODING 'UTF8'");
    await client.query(`drop database ${name} with (force)`);
    await client.end();
    await database.drop();
  });

  test("a search without its index says what makes it", async () => {
    const database = await createTestDatabase();
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const name = "Search of pictures";
    expect(await checkSearchIndex(database.url)).toEqual({ name, isOk: true, message: "by an index" });
    await client.query("drop index images_found; drop extension pg_trgm; drop extension btree_gin");
    const { message, isWarning } = await checkSearchIndex(database.url);
    expect(isWarning).toBe(true);
    const [, wanted = ""] = /run (.*)$/.exec(message) ?? [];
    for (const statement of wanted.split("; ")) await client.query(statement);
    expect(await checkSearchIndex(database.url)).toEqual({ name, isOk: true, message: "by an index" });
    await client.end();
    await database.drop();
  });
});

test("A1 what the role may not do is told with the command that lets it", async () => {
  const [made, empty] = await Promise.all([createTestDatabase(), createEmptyDatabase()]);
  const role = `role_${randomUUID().replaceAll("-", "")}`;
  const [admin, adminOfEmpty] = [made, empty].map(({ url }) => new pg.Client({ connectionString: url }));
  if (!admin || !adminOfEmpty) throw new Error("no clients");
  await Promise.all([admin.connect(), adminOfEmpty.connect()]);
  await admin.query(`create role ${role} login password 'secret'`);
  const look = async ({ url }: { readonly url: string }) => {
    const own = new URL(url);
    [own.username, own.password] = [role, "secret"];
    const [found] = await checkRights(own.href, []);
    return found;
  };
  const commandOf = async (database: { readonly url: string }) => {
    const found = await look(database);
    expect(found).toMatchObject({ isOk: false });
    expect(retellFinding(found?.message ?? "", await wordsIn("de"))).toContain("GRANT");
    return /; (GRANT .*)$/.exec(found?.message ?? "")?.[1] ?? "";
  };
  // Each command that it names helps until nothing is left to be said.
  await adminOfEmpty.query(await commandOf(empty));
  await adminOfEmpty.query(await commandOf(empty));
  expect(await look(empty)).not.toHaveProperty("isWarning");
  await admin.query("create table of_others (id int)");
  await admin.query(await commandOf(made));
  const found = await look(made);
  expect(found).toMatchObject({ isWarning: true, message: expect.stringContaining("DATABASE_DIRECT_URL") });
  expect(retellFinding(found?.message ?? "", await wordsIn("de"))).toContain("Rolle");
  await admin.query(`alter role ${role} set default_transaction_read_only = on`);
  expect(await look(made)).toMatchObject({
    isOk: false,
    message: expect.stringContaining("takes no writes"),
  });
  await adminOfEmpty.query(`drop owned by ${role}`);
  await admin.query(`drop owned by ${role}; drop role ${role}`);
  await Promise.all([admin.end(), adminOfEmpty.end()]);
  await Promise.all([made.drop(), empty.drop()]);
});

test.each([
  ["sslmode=require", "sslmode=disable"],
  ["sslmode=prefer&channel_binding=require", "sslmode=disable"],
])("A1 a server without TLS at an address with %s is told what to write", async (query, words) => {
  const database = await createTestDatabase();
  const found = await checkDatabase("DATABASE_URL", `${database.url}?${query}`);
  expect(found).toMatchObject({ isOk: false, message: expect.stringContaining(words) });
  await database.drop();
});

test("A1 a server whose certificate nobody signed that is known is told where to name its authority", async () => {
  const secure = createSecureContext(testCertificate);
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      socket.write("S");
      new TLSSocket(socket, { isServer: true, secureContext: secure }).on("error", () => undefined);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const found = await checkDatabase("DATABASE_URL", `postgres://a:b@127.0.0.1:${port}/c?sslmode=require`);
  expect(found).toMatchObject({ isOk: false, message: expect.stringContaining("sslrootcert=FILE") });
  expect(retellFinding(found.message, await wordsIn("de"))).toContain("nennen Sie die Datei");
  server.close();
});

test("second factors that this AUTH_SECRET does not open are counted", async () => {
  const fixture = await createTestServices();
  const { services } = fixture;
  const { db, env } = services;
  const url = env.DATABASE_URL ?? "";
  for (const [number, key] of [env.AUTH_SECRET ?? "", "the secret of another studio"].entries()) {
    const userId = await addUser(services);
    const secret = await symmetricEncrypt({ key, data: "the key of an app" });
    const factor = { id: `factor-${number}`, userId, secret, backupCodes: "", verified: true };
    await db.insert(schema.twoFactors).values(factor);
  }
  const one = { name: "Second factors", isOk: false };
  expect(await checkFactors(env, url)).toEqual([
    { ...one, message: expect.stringContaining("cannot be read (accounts: 1)") },
  ]);
  await db.delete(schema.twoFactors).where(eq(schema.twoFactors.id, "factor-1"));
  expect(await checkFactors(env, url)).toEqual([]);
  expect(await checkFactors({ ...env, AUTH_SECRET: undefined }, url)).toEqual([]);
  await db.execute(sql`drop table two_factors`);
  expect(await checkFactors(env, url)).toEqual([]);
  await fixture.close();
});

test("the signing key that the studio made is opened and tried, and is not made for that", async () => {
  const fixture = await createTestServices();
  const { services } = fixture;
  const { db, env } = services;
  const look = () => checkOwnSigningKey(env, env.DATABASE_URL ?? "");
  expect([await look(), await db.$count(schema.signingKeys)]).toEqual([[], 0]);
  await findSigner(services);
  const [found] = await look();
  expect(found).toMatchObject({
    isOk: true,
    message: expect.stringMatching(/is verified; .*valid until 20/),
  });
  await db.update(schema.signingKeys).set({ sealedKey: "damaged" });
  expect(await look()).toMatchObject([
    { isWarning: true, message: expect.stringContaining("cannot be opened") },
  ]);
  await fixture.close();
});
