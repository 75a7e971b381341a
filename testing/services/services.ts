import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import pino from "pino";
import { authOf, type Caller, createApiKey, createUser, resolveCaller } from "@atelier/server/accounts";
import { createEndpoint, testEndpoint } from "@atelier/server/deliveries";
import { addMemory, ask } from "@atelier/server/assistant";
import { schema } from "@atelier/server/db";
import { type EditState, saveEdit } from "@atelier/server/edits";
import { beginUpload, ingest } from "@atelier/server/images";
import { submit } from "@atelier/server/jobs";
import {
  type ConfigInput,
  type Later,
  type Logger,
  newId,
  parseConfig,
  parseEnv,
} from "@atelier/server/platform";
import { openServices, type Services } from "@atelier/server/services";
import { createTestDatabase } from "../postgres/index.ts";
import { startRedis } from "../redis/index.ts";

/** A log whose lines are kept, as JSON. */
export function captureLog(): { readonly log: Logger; readonly lines: string[] } {
  const lines: string[] = [];
  const log = pino({ level: "trace" }, { write: (line: string) => lines.push(line) });
  return { log, lines };
}

export interface TestServicesOptions {
  readonly backend?: "postgres" | "redis";
  readonly config?: ConfigInput;
  readonly env?: Readonly<Record<string, string>>;
  /** Silent by default. */
  readonly log?: Logger;
  /** What a platform of functions is told to wait for. */
  readonly keepAlive?: Later;
}

export interface TestServices {
  readonly services: Services;
  /** Further services of another process on the same database, files and queue. */
  openAnother(): Promise<Services>;
  close(): Promise<void>;
}

/** Tests change rows behind the back of a process, so it reads places at each submit unless the test says otherwise. */
function freshPlaces(config: ConfigInput = {}): ConfigInput {
  return { ...config, timing: { placesMs: 0, ...config.timing } };
}

/** Services on a migrated database and a data folder of their own, with real backends. */
export async function createTestServices(options: TestServicesOptions = {}): Promise<TestServices> {
  const database = await createTestDatabase();
  const redis = options.backend === "redis" ? await startRedis() : null;
  const dataDir = await mkdtemp(path.join(os.tmpdir(), "atelier-test-"));
  const { env, problems } = parseEnv({
    DATABASE_URL: database.url,
    ATELIER_DATA_DIR: dataDir,
    AUTH_SECRET: "a-secret-for-tests-that-is-long-enough-0123456789",
    LOG_LEVEL: "silent",
    ...(redis ? { REDIS_URL: redis.url } : {}),
    ...options.env,
  });
  if (!env) throw new Error(`wrong test environment: ${JSON.stringify(problems)}`);
  const log = options.log ?? pino({ level: "silent" });
  const { keepAlive } = options;
  const config = parseConfig(freshPlaces(options.config));
  const open = () => openServices({ env, config, name: "test", log, ...(keepAlive ? { keepAlive } : {}) });
  const opened: Services[] = [await open()];
  const [services] = opened as [Services];
  return {
    services,
    async openAnother() {
      const another = await open();
      opened.push(another);
      return another;
    },
    async close() {
      for (const each of opened) await each.close();
      await redis?.destroy();
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export const testOrigin = "http://localhost:3000";

/** A browser without a screen: keeps cookies and sends Origin and Host as browsers do. */
export interface TestBrowser {
  readonly headers: Headers;
  /** POST to /api/auth/... with JSON. */
  auth(path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  /** Takes over the cookies of an answer. */
  keepCookies(response: Response): void;
}

/** Makes a browser without a session. */
export function openTestBrowser(services: Services): TestBrowser {
  const cookies = new Map<string, string>();
  const headers = new Headers({ host: new URL(testOrigin).host, origin: testOrigin });
  const keepCookies = (response: Response) => {
    for (const line of response.headers.getSetCookie()) {
      const [pair = ""] = line.split(";");
      const at = pair.indexOf("=");
      if (/max-age=0/i.test(line)) cookies.delete(pair.slice(0, at));
      else cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    const value = [...cookies].map(([name, cookie]) => `${name}=${cookie}`).join("; ");
    if (value) headers.set("cookie", value);
    else headers.delete("cookie");
  };
  return {
    headers,
    keepCookies,
    async auth(path, body = {}, extra = {}) {
      const request = new Request(`${testOrigin}/api/auth${path}`, {
        method: "POST",
        headers: { ...Object.fromEntries(headers), "content-type": "application/json", ...extra },
        body: JSON.stringify(body),
      });
      const response = await authOf(services).handler(request);
      keepCookies(response);
      return response;
    },
  };
}

export const testPassword = "correct horse battery";

/** A browser with a new guest's session. */
export async function openGuest(services: Services): Promise<TestBrowser> {
  const browser = openTestBrowser(services);
  const response = await browser.auth("/sign-in/anonymous");
  if (!response.ok) throw new Error(`guest sign-in answered ${response.status}`);
  return browser;
}

/** A browser with a new account's session. */
export async function openAccount(services: Services, email: string): Promise<TestBrowser> {
  const browser = openTestBrowser(services);
  const response = await browser.auth("/sign-up/email", { email, password: testPassword, name: email });
  if (!response.ok) throw new Error(`sign-up answered ${response.status}: ${await response.text()}`);
  return browser;
}

/** A browser with an admin's session; the admin is made as an operator does it. */
export async function openAdmin(services: Services, email: string): Promise<TestBrowser> {
  await createUser(services, { email, password: testPassword, isAdmin: true });
  const browser = openTestBrowser(services);
  const response = await browser.auth("/sign-in/email", { email, password: testPassword });
  if (!response.ok) throw new Error(`sign-in answered ${response.status}: ${await response.text()}`);
  return browser;
}

const sample = path.join(import.meta.dirname, "../../public/samples/coffee.png");

/** An account with one of everything that can belong to it. */
export interface TestOwner {
  readonly browser: TestBrowser;
  readonly caller: Caller;
  readonly imageId: string;
  /** A direct upload that was begun. */
  readonly uploadId: string;
  /** Pending, since no worker runs. */
  readonly jobId: string;
  readonly apiKeyId: string;
  /** A webhook, and the test that is owed to it. */
  readonly endpointId: string;
  readonly deliveryId: string;
  /** A question to the assistant that nobody answers, and what belongs to it. */
  readonly conversationId: string;
  readonly runId: string;
  readonly proposalId: string;
  readonly memoryId: string;
  /** Of `imageId`, at revision 1. */
  readonly editId: string;
  readonly apiKey: string;
}

/**
 * Two changes of one user at once, of which `first` commits before `second` does, whatever `second` had read by then: both wait for
 * the row of the user. Where `second` only inserts something of the user, `first` has to lock the row `for update`: next to a mere
 * update of it such an insert does not queue, and which of them goes first is by chance.
 */
export async function race<First, Second>(
  { db }: Pick<Services, "db">,
  userId: string,
  [first, second]: readonly [() => Promise<First>, () => Promise<Second>],
): Promise<[PromiseSettledResult<First>, PromiseSettledResult<Second>]> {
  const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  const untilWaiting = async (count: number) => {
    while ((await db.execute(waiting)).length < count) await sleep(10);
  };
  const ends = await db.transaction(async (tx) => {
    await tx.execute(sql`select from users where id = ${userId} for update`);
    const one = first();
    await untilWaiting(1);
    const other = second();
    await untilWaiting(2);
    // As an object: the transaction must not wait for them.
    return { settled: Promise.allSettled([one, other]) };
  });
  return ends.settled;
}

/**
 * What `work` gives within one minute of the database's clock, in which limits of a minute count; it is done again where a minute
 * ended meanwhile.
 */
export async function inOneMinute<Result>(
  { db }: Pick<Services, "db">,
  work: () => Promise<Result>,
): Promise<Result> {
  const minute = sql`select date_trunc('minute', clock_timestamp())::text as began`;
  for (;;) {
    const before = await db.execute(minute);
    const result = await work();
    if ((await db.execute(minute))[0]?.["began"] === before[0]?.["began"]) return result;
  }
}

/** The state of an edit of this picture in which nothing has happened. */
export function emptyEditState(imageId: string): EditState {
  return {
    format: 1,
    versions: [{ imageId, parentId: null }],
    currentId: imageId,
    marks: {},
    maskIds: [],
    runs: [],
    view: null,
    mode: null,
    settings: {},
  };
}

export async function openOwner(
  services: Services,
  email: string,
  open: typeof openAccount = openAccount,
): Promise<TestOwner> {
  const browser = await open(services, email);
  const caller = await resolveCaller(services, browser.headers);
  if (!caller) throw new Error("the new account has no session");
  const { signal } = new AbortController();
  const ownerId = caller.userId;
  const image = await ingest(services, {
    ownerId,
    role: "upload",
    bytes: await readFile(sample),
    name: "coffee.png",
    signal,
  });
  const announced = { name: "", mime: "image/png", sizeBytes: 10, role: "upload" } as const;
  const begun = await beginUpload(services, { ownerId, announced });
  const request = { kind: "upscale", params: {}, inputs: { image: image.id } };
  const job = await submit(services, request, { submitter: caller });
  const key = await createApiKey(services, { userId: caller.userId, name: "test" });
  const endpoint = await createEndpoint(services, { ownerId, url: "https://hooks.example.org/" });
  const { deliveryId } = await testEndpoint(services, { ownerId, id: endpoint.id });
  const talk = await ask(services, { ownerId, text: "What do I like?" });
  const memory = await addMemory(services, { ownerId, text: "The user likes linen." });
  const { id: editId } = await saveEdit(services, {
    ownerId,
    imageId: image.id,
    revision: 0,
    writer: "another page",
    state: emptyEditState(image.id),
  });
  const proposalId = newId();
  await services.db.insert(schema.proposals).values({
    id: proposalId,
    runId: talk.runId,
    ownerId,
    toolCallId: "call",
    request: { ...request },
    requestSha256: "sha",
    title: "Upscale a picture",
  });
  return {
    browser,
    caller,
    ...talk,
    proposalId,
    memoryId: memory.id,
    editId,
    endpointId: endpoint.id,
    deliveryId,
    imageId: image.id,
    uploadId: "id" in begun ? begun.id : "",
    jobId: job.id,
    apiKeyId: key.id,
    apiKey: key.key,
  };
}
