import { randomBytes, randomUUID } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { identify, isAlive, withFileLock } from "../process/lock.ts";
import { chooseRunAs, createCluster, readPostmaster, resetPassword, StartError } from "./cluster.ts";
import { databaseName, ensureProductRole, isMarked, productUser, superuser } from "./product-role.ts";
import { type ServerPlan, startServer, stopServer } from "./server.ts";

/** Folder of the holder files: one per process that uses the database. The last holder stops it. */
function folderOf(dataDir: string): string {
  return path.join(dataDir, "run", "database-holders");
}

/** Creates the holder file of this process and returns its path. Call it under the folder's lock. */
function addHolder(dataDir: string): string {
  mkdirSync(folderOf(dataDir), { recursive: true });
  const file = path.join(folderOf(dataDir), `${randomUUID()}.json`);
  writeFileSync(file, JSON.stringify(identify(process.pid)));
  return file;
}

function removeHolder(file: string): void {
  rmSync(file, { force: true });
}

function isHeldBy(file: string): boolean {
  try {
    return isAlive(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    return false; // The file is incomplete: its writer was killed.
  }
}

/** Whether a live process uses the database; deletes the files of ended processes. Call it under the lock. */
function hasLiveHolder(dataDir: string): boolean {
  const files = readdirSync(folderOf(dataDir)).map((name) => path.join(folderOf(dataDir), name));
  const dead = files.filter((file) => !isHeldBy(file));
  for (const file of dead) removeHolder(file);
  return dead.length < files.length;
}

function secretFile(dataDir: string, name: string): string {
  return path.join(dataDir, "secrets", name);
}

/** The secret; null when it is missing or empty, as a power cut leaves it. */
function readSecret(file: string): string | null {
  try {
    return readFileSync(file, "utf8").trim() || null;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error; // What cannot be read is not lost.
  }
}

/**
 * Reads `<dataDir>/secrets/<name>`; creates it on first use (256 random bits, mode 0600). Safe with simultaneous
 * callers. A new one is stored once `apply` has taken it: a process that ends before leaves the secret missing.
 */
export async function readOrCreateSecret(
  dataDir: string,
  name: string,
  apply: (secret: string) => void = () => {},
): Promise<string> {
  const file = secretFile(dataDir, name);
  const known = readSecret(file);
  if (known) return known;
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  return withFileLock(`${file}.lock`, async () => {
    const made = readSecret(file);
    if (made) return made;
    const secret = randomBytes(32).toString("base64url");
    apply(secret);
    const draft = `${file}.${process.pid}`;
    try {
      writeFileSync(draft, `${secret}\n`, { mode: 0o600, flush: true });
      renameSync(draft, file);
    } finally {
      rmSync(draft, { force: true });
    }
    return secret;
  });
}

export interface EmbeddedPostgresOptions {
  /** The data folder; PostgreSQL uses its subfolder `postgres`. */
  readonly dataDir: string;
  /** Fixed port. Default: 54320, or any free one. */
  readonly port?: number;
  /** Server settings that replace defaults, for instance `{ fsync: "off" }` in tests. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** This process's hold on the embedded server of a data folder. */
export interface EmbeddedPostgres {
  /** Address of the database `atelier` for the role that owns it, with its password. Does not change while held. */
  readonly url: string;
  /** The same address for the superuser of the server: only for tests, never for the product. */
  readonly superuserUrl: string;
  readonly port: number;
  /** Pid of the server's first process. */
  pid(): number | null;
  isRunning(): boolean;
  /** Starts the server again on the same port if it has ended. */
  revive(): Promise<void>;
  /** Releases the server; it stops when no live process holds it, whichever process started it. Idempotent. */
  close(): Promise<void>;
}

const superuserSecret = "postgres-password";
const productSecret = "postgres-app-password";

interface Passwords {
  /** Empty when it is lost: a server that runs keeps its own, and its product role is complete. */
  readonly superuserPassword: string;
  readonly productPassword: string;
}

/** The passwords of the roles; a lost one is made anew. */
async function readPasswords(dataDir: string, { clusterDir, runAs }: ServerPlan): Promise<Passwords> {
  const file = secretFile(dataDir, superuserSecret);
  const isLost = existsSync(clusterDir) && readSecret(file) === null;
  if (isLost && readPostmaster(clusterDir) !== null) {
    const productPassword = readSecret(secretFile(dataDir, productSecret));
    if (productPassword && isMarked(clusterDir, productPassword))
      return { superuserPassword: "", productPassword };
    throw new StartError(`${file} is gone, and the database of that folder runs: stop what uses it first.`);
  }
  const reset = (superuserPassword: string) => {
    if (isLost) resetPassword(clusterDir, { runAs, superuserPassword });
  };
  return {
    superuserPassword: await readOrCreateSecret(dataDir, superuserSecret, reset),
    productPassword: await readOrCreateSecret(dataDir, productSecret),
  };
}

function addressesOf(port: number, { superuserPassword, productPassword }: Passwords) {
  const address = (login: string) => `postgres://${login}@127.0.0.1:${port}/${databaseName}`;
  return {
    url: address(`${productUser}:${productPassword}`),
    superuserUrl: address(`${superuser}:${superuserPassword}`),
  };
}

type Addresses = ReturnType<typeof addressesOf>;

function makeHandle(
  plan: ServerPlan & { port: number },
  addresses: Addresses,
  holder: string,
): EmbeddedPostgres {
  const { clusterDir } = plan;
  const dataDir = path.dirname(clusterDir);
  const lock = lockOf(dataDir);
  let isClosed = false;
  return {
    ...addresses,
    port: plan.port,
    pid: () => readPostmaster(clusterDir)?.pid ?? null,
    isRunning: () => readPostmaster(clusterDir) !== null,
    revive: () =>
      withFileLock(lock, async () => {
        if (!isClosed) await startServer(plan);
      }),
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      await withFileLock(lock, async () => {
        removeHolder(holder);
        if (!hasLiveHolder(dataDir)) await stopServer(clusterDir);
      });
    },
  };
}

/** What a shell sets for other servers: this one has no TLS, and the program's sessions name what they need. */
const settingsOfOthers = ["PGSSLMODE", "PGOPTIONS", "PGCLIENTENCODING"] as const;

function lockOf(dataDir: string): string {
  return path.join(dataDir, "run", "database.lock");
}

/**
 * Starts the embedded PostgreSQL of a data folder, or uses the one that already runs, also when the process
 * that started it has ended: the last holder stops it. Throws StartError.
 */
export async function openPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const dataDir = path.resolve(options.dataDir);
  mkdirSync(dataDir, { recursive: true });
  for (const name of settingsOfOthers) delete process.env[name];
  return withFileLock(lockOf(dataDir), async () => {
    const clusterDir = path.join(dataDir, "postgres");
    const runAs = chooseRunAs();
    // As root the server runs as another user, who must be able to reach its own folder.
    if (runAs.user) chmodSync(dataDir, statSync(dataDir).mode | 0o011);
    const { port = null, settings = {} } = options;
    const plan = { clusterDir, runAs, port, settings };
    const passwords = await readPasswords(dataDir, plan);
    createCluster(clusterDir, { ...passwords, runAs, isDurable: settings["fsync"] !== "off" });
    const holder = addHolder(dataDir);
    try {
      const server = await startServer(plan);
      const addresses = addressesOf(server.port, passwords);
      const { productPassword: password } = passwords;
      await ensureProductRole(clusterDir, { superuserUrl: addresses.superuserUrl, password });
      return makeHandle({ ...plan, port: server.port }, addresses, holder);
    } catch (error) {
      removeHolder(holder);
      if (!hasLiveHolder(dataDir)) await stopServer(clusterDir);
      throw error;
    }
  });
}
