import { execFile, spawnSync } from "node:child_process";
import fs, {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { migrate } from "@atelier/server/db";
import { type NodeRun, runCode } from "@atelier/testing/processes";
import { inAll } from "@atelier/testing/cases";
import { isPidAlive } from "../process/lock.ts";
import { findFreePort, waitUntil } from "../process/tools.ts";
import { createCluster, isStartError } from "./cluster.ts";
import { type EmbeddedPostgres, openPostgres, readOrCreateSecret } from "./postgres.ts";
import { stopServer } from "./server.ts";

let dataDir = "";
let port = 0;

beforeEach(async () => {
  dataDir = mkdtempSync(path.join(os.tmpdir(), "atelier-embedded-"));
  port = await findFreePort();
});

afterEach(async () => {
  await stopServer(path.join(dataDir, "postgres"));
  rmSync(dataDir, { recursive: true, force: true });
});

const open = () => openPostgres({ dataDir, port });
const secretsDir = () => path.join(dataDir, "secrets");

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

const moduleFile = JSON.stringify(path.join(import.meta.dirname, "postgres.ts"));

/** Another process that holds the database until it is killed. */
function openElsewhere(env?: NodeJS.ProcessEnv): NodeRun {
  return runCode(
    `
    const { openPostgres } = await import(${moduleFile});
    const database = await openPostgres(${JSON.stringify({ dataDir, port })});
    console.log("open " + database.pid() + " " + database.url);
    setInterval(() => {}, 1000);
  `,
    env,
  );
}

async function killServer(database: EmbeddedPostgres): Promise<void> {
  process.kill(database.pid() ?? 0, "SIGKILL");
  expect(await waitUntil(() => !database.isRunning(), 30_000)).toBe(true);
}

test("a second one attaches to the running server, which stops when the last one leaves", async () => {
  const first = await open();
  const second = await open();
  expect(second.url).toBe(first.url);
  expect(second.pid()).toBe(first.pid());
  await first.close();
  expect(await query(second.url, "SELECT 1 AS n")).toEqual([{ n: 1 }]);
  await second.close();
  expect(second.isRunning()).toBe(false);
});

test("what a shell sets for other servers does not reach this one", async () => {
  Object.assign(process.env, { PGSSLMODE: "require", PGOPTIONS: "-c no.such=1 -c nonsense" });
  const database = await open();
  expect(await query(database.url, "SELECT 1 AS n")).toEqual([{ n: 1 }]);
  await database.close();
});

test("lost or empty passwords are made anew, and the rows are there", async () => {
  const rows = async () => {
    const database = await open();
    const found = await query(database.url, "SELECT n FROM kept");
    await database.close();
    return found;
  };
  const database = await open();
  await query(database.url, "CREATE TABLE kept AS SELECT 7 AS n");
  await database.close();
  const secrets = path.join(dataDir, "secrets");
  rmSync(secrets, { recursive: true });
  expect(await rows()).toEqual([{ n: 7 }]);
  for (const name of ["postgres-password", "postgres-app-password"])
    writeFileSync(path.join(secrets, name), "");
  expect(await rows()).toEqual([{ n: 7 }]);
  await killServer(await open());
  rmSync(secrets, { recursive: true });
  expect(await rows()).toEqual([{ n: 7 }]);
});

test.each(["before", "after"])(
  "a start that ends %s the lost password is set locks nobody out",
  async (when) => {
    await (await open()).close();
    rmSync(secretsDir(), { recursive: true });
    const run = runCode(`
    const { default: programs } = await import("node:child_process");
    const { syncBuiltinESMExports } = await import("node:module");
    const real = programs.spawnSync;
    const die = () => process.kill(process.pid, "SIGKILL");
    programs.spawnSync = (file, args, options) => {
      const isReset = args.includes("--single");
      if (isReset && ${when === "before"}) die();
      const answer = real(file, args, options);
      if (isReset) die();
      return answer;
    };
    syncBuiltinESMExports();
    const { openPostgres } = await import(${moduleFile});
    await openPostgres(${JSON.stringify({ dataDir, port })});
  `);
    await run.ended;
    expect(run.child.signalCode).toBe("SIGKILL");
    const database = await open();
    for (const url of [database.url, database.superuserUrl])
      expect(await query(url, "SELECT 1 AS n")).toEqual([{ n: 1 }]);
    await database.close();
  },
);

test("a running server is attached to without the superuser's password, which is made anew later", async () => {
  const first = await open();
  rmSync(path.join(secretsDir(), "postgres-password"));
  const second = await open();
  expect(second.url).toBe(first.url);
  await second.close();
  rmSync(path.join(secretsDir(), "postgres-app-password"));
  await expect(open()).rejects.toSatisfy(isStartError);
  expect(fs.readdirSync(secretsDir())).toEqual([]);
  await first.close();
  const again = await open();
  expect(await query(again.superuserUrl, "SELECT 1 AS n")).toEqual([{ n: 1 }]);
  await again.close();
});

test("a secret that cannot be read is not taken for a lost one", async () => {
  mkdirSync(path.join(secretsDir(), "auth-secret"), { recursive: true });
  await expect((async () => readOrCreateSecret(dataDir, "auth-secret"))()).rejects.toMatchObject({
    code: "EISDIR",
  });
});

test("a program that cannot be started is said with its reason", () => {
  const runAs = { prefix: [path.join(dataDir, "no-such-program")], user: null };
  const plan = { superuserPassword: "s", productPassword: "p", runAs, isDurable: false };
  const create = () => createCluster(path.join(dataDir, "postgres"), plan);
  expect(create).toThrow(/ENOENT.*DATABASE_URL/);
});

const ownMounts = ["--user", "--map-root-user", "--mount"];

test.runIf(spawnSync("unshare", [...ownMounts, "mount", "--version"]).status === 0)(
  "the server of a folder is known by a second name of the folder, too",
  async () => {
    const folders = [path.join(dataDir, "one"), path.join(dataDir, "two")];
    for (const folder of folders) mkdirSync(folder);
    const code = `
      const { execFileSync } = await import("node:child_process");
      const { openPostgres } = await import(${moduleFile});
      const folders = ${JSON.stringify(folders)};
      execFileSync("mount", ["--bind", ...folders]);
      const [one, two] = folders;
      const first = await openPostgres({ dataDir: one, port: ${port} });
      const second = await openPostgres({ dataDir: two, port: ${port} });
      console.log(JSON.stringify([first.pid(), second.pid()]));
      await second.close();
      await first.close();
    `;
    const node = [process.execPath, "--input-type=module", "--eval", code];
    const { stdout } = await promisify(execFile)("unshare", [...ownMounts, ...node]);
    const [first, second] = JSON.parse(stdout);
    expect(first).toBeGreaterThan(0);
    expect(second).toBe(first);
  },
);

test.runIf(process.platform === "linux")(
  "after a power cut another PostgreSQL may have the pid that stands in the folder",
  async () => {
    const other = await openPostgres({ dataDir: path.join(dataDir, "other"), port: await findFreePort() });
    const first = await open();
    await first.close();
    const lines = readFileSync(path.join(dataDir, "other", "postgres", "postmaster.pid"), "utf8").split("\n");
    const stale = [lines[0], path.join(dataDir, "postgres"), lines[2], port, ...lines.slice(4)].join("\n");
    writeFileSync(path.join(dataDir, "postgres", "postmaster.pid"), stale);
    const again = await open();
    expect(again.pid()).not.toBe(other.pid());
    expect(await query(again.url, "SELECT 1 AS n")).toEqual([{ n: 1 }]);
    await again.close();
    expect(await query(other.url, "SELECT 1 AS n")).toEqual([{ n: 1 }]);
    await other.close();
  },
);

/** What the code does to a disk for cameras and sticks, and to a folder of a network or a cloud. */
const withoutLinks = `
  const { default: fs } = await import("node:fs");
  const { syncBuiltinESMExports } = await import("node:module");
  fs.linkSync = () => { throw Object.assign(new Error("operation not permitted, link"), { code: "EPERM" }); };
  syncBuiltinESMExports();`;

test("a secret is made once, also of an empty file, by two, and where files cannot be linked", async () => {
  const names = Array.from({ length: 20 }, (_, index) => `secret-${index}`);
  mkdirSync(secretsDir());
  for (const name of names) writeFileSync(path.join(secretsDir(), name), "");
  const go = path.join(dataDir, "go");
  const code = `
    ${withoutLinks}
    const { readOrCreateSecret } = await import(${moduleFile});
    console.log("here");
    while (!fs.existsSync(${JSON.stringify(go)}));
    const made = [];
    for (const name of ${JSON.stringify(names)}) made.push(await readOrCreateSecret(${JSON.stringify(dataDir)}, name));
    console.log("made " + JSON.stringify(made));
  `;
  const runs = [runCode(code), runCode(code)];
  for (const run of runs) await run.seen(/here/);
  writeFileSync(go, "");
  const made = await Promise.all(runs.map(async (run) => (await run.seen(/made (.+)/))[1]));
  const stored = names.map((name) => readFileSync(path.join(secretsDir(), name), "utf8").trim());
  expect(new Set(stored.filter((secret) => secret.length === 43)).size).toBe(names.length);
  expect(made).toEqual([JSON.stringify(stored), JSON.stringify(stored)]);
  expect(fs.readdirSync(secretsDir()).toSorted()).toEqual(names.toSorted());
  expect(statSync(path.join(secretsDir(), "secret-0")).mode & 0o077).toBe(0);
});

test("two processes that start at the same moment share one new server", inAll, async () => {
  const runs = [openElsewhere(), openElsewhere()];
  const lines = await Promise.all(runs.map((run) => run.seen(/open (\d+) \S+/)));
  expect(lines[0]?.[1]).toBe(lines[1]?.[1]);
  for (const run of runs) run.child.kill("SIGKILL");
  await Promise.all(runs.map((run) => run.ended));
});

test("kill -9 of the server loses no acknowledged row, and it comes back at the same address", async () => {
  const database = await open();
  await query(database.url, "CREATE TABLE mark (n int)");
  for (let n = 0; n < 20; n += 1) await query(database.url, `INSERT INTO mark VALUES (${n})`);
  await killServer(database);
  await database.revive();
  expect(await query(database.url, "SELECT count(*)::int AS n FROM mark")).toEqual([{ n: 20 }]);
  await database.close();
});

test("the server of an owner that was killed is taken over and stopped at the end", inAll, async () => {
  const owner = openElsewhere();
  const serverPid = Number((await owner.seen(/open (\d+)/))[1]);
  owner.child.kill("SIGKILL");
  await owner.ended;
  expect(isPidAlive(serverPid)).toBe(true);
  const database = await open();
  expect(database.pid()).toBe(serverPid);
  await database.close();
  expect(isPidAlive(serverPid)).toBe(false);
});

test.runIf(process.getuid?.() === 0)(
  "as root without user namespaces it runs as another user",
  inAll,
  async () => {
    const programs = path.join(dataDir, "bin");
    mkdirSync(programs);
    symlinkSync("/usr/bin/id", path.join(programs, "id"));
    chmodSync(dataDir, 0o755);
    const run = openElsewhere({ ...process.env, PATH: programs });
    const serverPid = Number((await run.seen(/open (\d+)/))[1]);
    expect(statSync(`/proc/${serverPid}`).uid).not.toBe(0);
    run.child.kill("SIGKILL");
    await run.ended;
  },
);

test(
  "a leftover pid file that names some other program does not keep the server from starting",
  inAll,
  async () => {
    const database = await open();
    const file = path.join(dataDir, "postgres", "postmaster.pid");
    const lines = readFileSync(file, "utf8").split("\n");
    await killServer(database);
    writeFileSync(file, [String(process.pid), ...lines.slice(1)].join("\n"));
    expect(database.isRunning()).toBe(false);
    await database.revive();
    expect(await query(database.url, "SELECT 1 AS n")).toEqual([{ n: 1 }]);
    await database.close();
  },
);

test(
  "the passwords are generated, readable by the owner alone, asked for, and the product's is replaced when lost",
  inAll,
  async () => {
    const database = await open();
    for (const name of ["postgres-password", "postgres-app-password"]) {
      const file = path.join(dataDir, "secrets", name);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(readFileSync(file, "utf8").trim()).toHaveLength(43);
    }
    for (const url of [database.url, database.superuserUrl]) {
      const wrong = new URL(url);
      wrong.password = "guess";
      await expect(query(wrong.href, "SELECT 1")).rejects.toMatchObject({ code: "28P01" });
    }
    await database.close();
    rmSync(path.join(dataDir, "secrets", "postgres-app-password"));
    const next = await open();
    expect(next.url).not.toBe(database.url);
    expect(await query(next.url, "SELECT 1 AS n")).toEqual([{ n: 1 }]);
    await next.close();
  },
);

const denied = { code: "42501" };

test("the product's role owns its database and has no rights on the server", inAll, async () => {
  const database = await open();
  const roles = "SELECT rolname, rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls";
  expect(await query(database.url, `${roles} FROM pg_roles WHERE rolname = current_user`)).toEqual([
    {
      rolname: "atelier_app",
      rolsuper: false,
      rolcreaterole: false,
      rolcreatedb: false,
      rolreplication: false,
      rolbypassrls: false,
    },
  ]);
  await migrate(database.url);
  for (const refused of [
    "COPY (SELECT 1) TO PROGRAM 'true'",
    "COPY users TO '/tmp/atelier-users'",
    "SELECT pg_read_file('postgresql.conf')",
    "ALTER SYSTEM SET jit = 'on'",
    "ALTER ROLE atelier_app SUPERUSER",
    "SET ROLE atelier",
    "SELECT rolpassword FROM pg_authid",
  ]) {
    await expect(query(database.url, refused)).rejects.toMatchObject(denied);
  }
  await database.close();
});

const noMember = (catalog: string) =>
  `NOT EXISTS (SELECT FROM pg_depend WHERE objid = ${catalog}.oid AND classid = '${catalog}'::regclass AND deptype = 'e')`;

// What an extension made belongs to the superuser, whichever role created the extension.
const objectsOfSuperuser = `
  SELECT relname AS name FROM pg_class WHERE relowner = 'atelier'::regrole AND oid >= 16384
  UNION ALL SELECT nspname FROM pg_namespace WHERE nspowner = 'atelier'::regrole AND oid >= 16384
  UNION ALL SELECT proname FROM pg_proc WHERE proowner = 'atelier'::regrole AND oid >= 16384 AND ${noMember("pg_proc")}
  UNION ALL SELECT typname FROM pg_type WHERE typowner = 'atelier'::regrole AND oid >= 16384 AND ${noMember("pg_type")}
  UNION ALL SELECT datname FROM pg_database WHERE datdba = 'atelier'::regrole AND datname = 'atelier'`;

/** Turns the data folder into one of the version in which the product worked as the superuser. */
async function makeEarlierFolder(): Promise<void> {
  const database = await open();
  const { superuserUrl } = database;
  await query(superuserUrl, "ALTER DATABASE atelier OWNER TO atelier");
  await query(superuserUrl, "DROP ROLE atelier_app");
  await migrate(superuserUrl);
  await query(superuserUrl, "INSERT INTO users (id, name, email) VALUES ('u', 'Ada', 'ada@example.com')");
  await query(superuserUrl, "CREATE TYPE shade AS ENUM ('light'); CREATE DOMAIN hue AS int");
  await query(superuserUrl, "CREATE TYPE tone AS (n int); CREATE VIEW people AS SELECT id FROM users");
  await query(superuserUrl, 'CREATE SEQUENCE "Odd name"; CREATE TABLE counted (id serial)');
  await query(superuserUrl, "CREATE FUNCTION one(hue) RETURNS int LANGUAGE sql RETURN 1");
  await database.close();
  rmSync(path.join(dataDir, "postgres", "atelier-role"));
  rmSync(path.join(dataDir, "secrets", "postgres-app-password"));
}

test(
  "a data folder of an earlier version keeps its rows, and all its objects go to the product's role",
  inAll,
  async () => {
    await makeEarlierFolder();
    const database = await open();
    expect(await query(database.superuserUrl, objectsOfSuperuser)).toEqual([]);
    expect(await query(database.url, "SELECT name FROM users")).toEqual([{ name: "Ada" }]);
    await migrate(database.url);
    await query(database.url, "ALTER TABLE users ADD COLUMN extra int; DROP FUNCTION one; DROP TYPE shade");
    const roles = "SELECT oid, xmin, rolpassword FROM pg_authid WHERE rolname = 'atelier_app'";
    const before = await query(database.superuserUrl, roles);
    await database.close();
    const again = await open();
    expect(again.url).toBe(database.url);
    expect(await query(again.superuserUrl, roles)).toEqual(before);
    expect(await query(again.url, "SELECT name FROM users")).toEqual([{ name: "Ada" }]);
    await again.close();
  },
);
