import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import type { Job, SubmitOptions } from "@atelier/server/jobs";
import type { Services } from "@atelier/server/services";
import { waitUntil } from "../../scripts/process/tools.ts";
import { realTimeMs } from "../cases/index.ts";
import { addOwner, findBrokenInvariants, type TestOwner } from "../jobs/index.ts";
import { createTestServices, type TestServices, type TestServicesOptions } from "../services/index.ts";
import { startTestWorker, type TestWorker, type TestWorkerOptions } from "../worker/index.ts";

/** Waits until what is read equals `wanted`; fails with the difference after `patienceMs`. For tests that run at once. */
export async function eventually<T>(
  read: () => T | Promise<T>,
  wanted: T,
  patienceMs = 90_000,
): Promise<void> {
  let last = await read();
  await waitUntil(async () => isDeepStrictEqual((last = await read()), wanted), patienceMs);
  expect(last).toEqual(wanted);
}

/**
 * Measures once more, twice at the most, while the time is above the bound: what a busy machine adds differs each time, what the
 * product adds does not.
 */
export async function measureWithin(boundMs: number, measure: () => Promise<number>): Promise<number> {
  let ms = await measure();
  for (let tries = 1; tries < 3 && ms > boundMs; tries += 1) ms = await measure();
  return ms;
}

/** When a cancelled run must have given its place to the next job (F36). */
const freeMs = 2_000;

/**
 * The same on this machine, which may have other work: with the time that it takes to stop a run and to start one, each as long as the
 * slowest start of the cancelled jobs, which found free places.
 */
export function freeWithinMs(cancelled: readonly Pick<Job, "createdAt" | "startedAt">[]): number {
  const starts = cancelled.map(({ createdAt, startedAt }) => Number(startedAt) - Number(createdAt));
  return freeMs + 2 * Math.max(...starts);
}

/** A list of servers over HTTP, as a deployment publishes it. */
export interface ServedList {
  readonly url: string;
  set(urls: readonly string[]): void;
  /** How often it was answered that nothing has changed. */
  unchanged(): number;
  close(): Promise<void>;
}

export async function serveList(): Promise<ServedList> {
  let body = toBody([]);
  let unchanged = 0;
  const server = createServer((request, response) => {
    const etag = `"${createHash("sha256").update(body).digest("hex")}"`;
    if (request.headers["if-none-match"] === etag) {
      unchanged += 1;
      response.writeHead(304, { etag }).end();
    } else {
      response.writeHead(200, { etag, "content-type": "application/json" }).end(body);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/backends.json`,
    set: (urls) => (body = toBody(urls)),
    unchanged: () => unchanged,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function toBody(urls: readonly string[]): string {
  return JSON.stringify({ version: 1, servers: urls.map((url) => ({ url })) });
}

/**
 * Where the process dies: after the job was accepted, or after it was let out of the line; before the bell in both. `storing`:
 * while the jobs of a batch are stored.
 */
export type DeathPoint = "accepted" | "queued" | "storing";

/** The idempotency key of a batch. */
export const batchKey = "one batch";

/** What `submit-and-die.ts` is told, as JSON in this variable. */
export interface SubmitOrders {
  readonly submitter: SubmitOptions["submitter"];
  readonly request: unknown;
  readonly point: DeathPoint;
}

export const ordersName = "ATELIER_TEST_SUBMIT";

/** Starts the worker again whenever it died, as a supervisor does, until `over`; tells how often it started. */
export async function supervise(start: () => Promise<TestWorker>, over: AbortSignal): Promise<number> {
  const isOver = new Promise((resolve) => over.addEventListener("abort", resolve));
  let starts = 0;
  while (!over.aborted) {
    const worker = await start();
    starts += 1;
    await Promise.race([worker.exited, isOver]);
  }
  return starts;
}

/** For the tests of one suite that share its scene, while the suites run at once. */
export const oneByOne = { timeout: realTimeMs, concurrent: false } as const;

/** A database, a queue, files and one user, of one test alone. */
export interface Scene {
  readonly services: Services;
  readonly opened: TestServices;
  readonly owner: TestOwner;
  /** A worker that ends with the scene at the latest; `steady` unless another configuration is asked for. */
  startWorker(options?: TestWorkerOptions): Promise<TestWorker>;
  /** What is wrong now (R5); empty when all is well. */
  faults(): Promise<string[]>;
}

/** How a test's end is told: `onTestFinished` of its context. */
type OnFinished = (end: () => Promise<void>) => void;

/** Of one kind in the log of one worker; a test lasts two minutes at the most. */
const maxRepeats = 12;

/** Warnings that a worker repeated without pauses; a line names its kind by its text and by names and ids. */
function findRepeatedLines(output: string): string[] {
  const counts = new Map<string, number>();
  for (const line of output.split("\n")) {
    // A killed worker leaves half of a line.
    if (!/^\{.*\}$/.test(line)) continue;
    const { level, time: _time, stack: _stack, err, ...fields } = JSON.parse(line) as Record<string, unknown>;
    if (Number(level) < 40) continue;
    const named = Object.entries(fields).filter(([, value]) => typeof value === "string");
    const kind = JSON.stringify([Object(err).type, Object(err).code, ...named]);
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return [...counts].flatMap(([kind, count]) =>
    count > maxRepeats ? [`logged ${count} times: ${kind.slice(0, 300)}`] : [],
  );
}

/** Opens a scene for one test; several tests of a file may run at once, each in its own. */
export async function openScene(onFinished: OnFinished, options: TestServicesOptions): Promise<Scene> {
  const opened = await createTestServices(options);
  const { services } = opened;
  const workers: Promise<TestWorker>[] = [];
  onFinished(async () => {
    for (const started of await Promise.allSettled(workers))
      if (started.status === "fulfilled") await started.value.kill9();
    await opened.close();
  });
  return {
    services,
    opened,
    owner: await addOwner(services),
    startWorker(workerOptions) {
      const started = startTestWorker(services, { config: "steady", ...workerOptions });
      workers.push(started);
      return started;
    },
    async faults() {
      const started = await Promise.allSettled(workers);
      const repeated = started.flatMap((each) =>
        each.status === "fulfilled" ? findRepeatedLines(each.value.output()) : [],
      );
      return [...(await findBrokenInvariants(services)), ...repeated];
    },
  };
}
