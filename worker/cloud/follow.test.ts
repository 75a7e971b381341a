import { createServer, type Server } from "node:http";
import path from "node:path";
import type { AddressInfo } from "node:net";
import { schema } from "@atelier/server/db";
import { endCall, readJob } from "@atelier/server/jobs";
import { clockDuty } from "@atelier/server/leases";
import { AppError, newId, parseConfig } from "@atelier/server/platform";
import {
  attemptsOf,
  clientOf,
  type ProviderClient,
  ProviderError,
  readSpend,
  takeDueAttempts,
} from "@atelier/server/providers";
import { addTinyGateModel, pictureOf } from "@atelier/testing/content-gate";
import { addNode, addOwner } from "@atelier/testing/jobs";
import { readSample } from "@atelier/testing/pictures";
import { whileCut } from "@atelier/testing/postgres";
import { captureLog, createTestServices, type TestServices } from "@atelier/testing/services";
import { listObjects } from "@atelier/server/storage";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { startFollowing } from "./follow.ts";

let opened: TestServices;
/** Answers every question about a run with `answer`. */
let provider: Server;
let answer = "";
let status = 200;
/** Questions so far. */
let asked = 0;

beforeAll(async () => {
  // Runs are asked about often.
  opened = await createTestServices({
    config: { cloud: { pollS: 0.2, maxPollS: 1 } },
    env: { APP_URL: "http://127.0.0.1:3000" },
  });
  provider = createServer((_request, response) => {
    asked += 1;
    response.writeHead(status, { "content-type": "application/json" }).end(answer);
  });
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  provider.close();
  await opened.close();
});

interface Accepted {
  readonly isOverdue?: boolean;
  readonly isLost?: boolean;
  readonly createdAt?: Date;
  readonly acceptedAt?: Date;
  readonly keyId?: string;
  readonly externalId?: string;
  /** One that takes pictures has lost them. */
  readonly takes?: { readonly kind: "inpaint"; readonly inputCount: number };
}

/** A job whose run a provider has accepted, or whose call had no answer if `isLost`; past its deadline if `isOverdue`. */
async function acceptedJob({
  isOverdue = false,
  isLost = false,
  createdAt = new Date(),
  acceptedAt = new Date(),
  keyId = newId(),
  externalId = "run",
  ...more
}: Accepted = {}) {
  const { services } = opened;
  const nodeId = await addNode(services, { queue: "cloud", needs: ["cloud/nano-banana"] });
  const { userId: ownerId } = await addOwner(services);
  const [jobId, attemptId] = [newId(), newId()];
  const attempt = {
    id: attemptId,
    ownerId,
    provider: "replicate",
    keyId,
    model: "nano-banana",
    endpoint: "google/nano-banana",
    state: isLost ? "unknown" : "accepted",
    externalId: isLost ? null : externalId,
    token: newId(),
    priceUsd: 0.04,
    createdAt,
    acceptedAt: isLost ? null : acceptedAt,
    nextPollAt: new Date(0),
    deadlineAt: new Date(isOverdue ? 0 : Date.now() + 3_600_000),
  } as const;
  await services.db.insert(schema.jobs).values({
    id: jobId,
    ownerId,
    kind: "text_to_image",
    ...more.takes,
    status: "processing",
    tier: 1,
    params: { prompt: "a still pond" },
    queue: "cloud",
    engine: "cloud",
    model: "nano-banana",
    need: "cloud/nano-banana",
    attempt: 1,
    providerAttemptId: attemptId,
  });
  await services.db.insert(schema.providerAttempts).values({ ...attempt, jobId });
  return { jobId, keyId, nodeId };
}

function start(
  { keyId, nodeId }: { keyId: string; nodeId: string },
  client = clientOf("replicate"),
  services = opened.services,
) {
  const baseUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  const access = { name: "replicate", baseUrl, apiKey: "canary-key", webhookSecret: null } as const;
  return startFollowing(
    services,
    { keys: [{ provider: "replicate", keyId, access }], clientOf: () => client },
    { current: () => ({ id: nodeId, name: "test" }) } as never,
  );
}

async function follow(
  { jobId, keyId, nodeId }: Awaited<ReturnType<typeof acceptedJob>>,
  client?: ProviderClient,
  services = opened.services,
) {
  const loop = start({ keyId, nodeId }, client, services);
  const attempt = async () => (await attemptsOf(services.db, jobId))[0];
  try {
    await vi.waitUntil(
      async () => ["failed", "succeeded", "cancelled"].includes((await attempt())?.state ?? ""),
      {
        timeout: 10_000,
        interval: 50,
      },
    );
  } finally {
    await loop.stop();
  }
  return { job: await readJob(services, jobId), attempt: await attempt() };
}

const nested = (depth: number) => `${'{"a":'.repeat(depth)}"http://127.0.0.1:1/a.png"${"}".repeat(depth)}`;

test.each([
  ["an error with NUL", '{"status":"failed","error":"out of \\u0000 memory"}', "out of memory"],
  ["an error with half of a pair", '{"status":"failed","error":"bad \\ud83d input"}', "bad \ufffd input"],
  [
    "an error of a megabyte",
    `{"status":"failed","error":"${"x".repeat(1_000_000)}"}`,
    "The prediction failed.",
  ],
])("E5 a run ends with %s", async (_name, text, stored) => {
  answer = text;
  const { job, attempt } = await follow(await acceptedJob());
  expect(job).toMatchObject({ status: "failed", errorCode: "provider_failed" });
  expect(attempt).toMatchObject({ state: "failed", errorMessage: stored, finishToken: null });
});

test("E5 an answer larger than any picture ends its run at its price, and is not asked for again", async () => {
  answer = `{"status":"succeeded","output":"${"x".repeat(61 * 1024 ** 2)}"}`;
  const before = asked;
  const { job, attempt } = await follow(await acceptedJob());
  expect(asked - before).toBe(1);
  expect(job).toMatchObject({ status: "failed", errorCode: "provider_failed" });
  expect(attempt).toMatchObject({ state: "failed", errorClass: "internal", costUsd: 0.04 });
});

test.each([
  ["a page of a proxy", 200, "<html>"],
  ["a page after blanks", 200, "\r\n <!doctype html>"],
  ["a fault of a gateway", 502, '{"error":"'],
  ["a fault of the provider", 500, "x"],
])("R6 %s that never ends says nothing of a run, which is asked for again", async (_name, refusal, start) => {
  [status, answer] = [refusal, start.padEnd(61 * 1024 ** 2, "x")];
  const before = asked;
  const following = follow(await acceptedJob());
  await vi.waitUntil(() => asked - before >= 2, { timeout: 10_000 });
  [status, answer] = [200, '{"status":"failed","error":"made nothing"}'];
  expect((await following).attempt).toMatchObject({ state: "failed", errorMessage: "made nothing" });
});

test.each([
  ["nested too deep to walk", `{"status":"succeeded","output":${nested(100_000)}}`],
  ["nested in lists", `{"status":"succeeded","output":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
  ["no JSON", "<html>"],
])("E5 past its deadline a run ends whose answer is %s", async (_name, text) => {
  answer = text;
  const { job, attempt } = await follow(await acceptedJob({ isOverdue: true }));
  expect(job).toMatchObject({ status: "failed", errorCode: "provider_failed" });
  expect(attempt).toMatchObject({ state: "failed", errorClass: "timeout", nextPollAt: null });
});

test("E5 past its deadline a run ends whatever is thrown", async () => {
  const broken: ProviderClient = {
    ...clientOf("replicate"),
    get: () => Promise.reject(new RangeError("Maximum call stack size exceeded")),
  };
  const { job, attempt } = await follow(await acceptedJob({ isOverdue: true }), broken);
  expect(job).toMatchObject({ status: "failed" });
  expect(attempt).toMatchObject({ state: "failed", errorClass: "timeout" });
});

test.each([
  ["requested", "timeout", { errorCode: null }, 0],
  ["too_late", "lost", { errorCode: "provider_unknown" }, 0.04],
  ["unsupported", "lost", { errorCode: "provider_unknown" }, 0.04],
  ["no answer", "lost", { errorCode: "provider_unknown" }, 0.04],
] as const)(
  "E4 past its deadline a run counts its price and is not bought again, unless the provider stops it: %s",
  async (answered, errorClass, after, countedUsd) => {
    const before = opened;
    const config = parseConfig({ cloud: { pollS: 0.2, onLateFailure: "next" } });
    opened = { ...before, services: { ...before.services, config } };
    try {
      const accepted = await acceptedJob({ isOverdue: true });
      const client: ProviderClient = {
        ...clientOf("replicate"),
        get: async () => ({ state: "running", progress: null }),
        cancel: async () => {
          if (answered === "no answer") throw new ProviderError("transient", "HTTP 503");
          return answered;
        },
      };
      const { db } = before.services;
      const ownerId = (await readJob(before.services, accepted.jobId))?.ownerId ?? "";
      const { job, attempt } = await follow(accepted, client);
      expect(attempt).toMatchObject({ state: "failed", errorClass, costUsd: null });
      expect(job).toMatchObject(after);
      expect(await readSpend(db, config, ownerId)).toMatchObject({ dayUsd: countedUsd });
    } finally {
      opened = before;
    }
  },
);

test("E4 a run that a cancel does not stop counts when it ends, and at its deadline when it does not", async () => {
  const { services } = opened;
  for (const isOverdue of [false, true]) {
    const accepted = await acceptedJob({ isOverdue });
    await services.db.update(schema.jobs).set(endedNow()).where(eq(schema.jobs.id, accepted.jobId));
    const client: ProviderClient = {
      ...clientOf("replicate"),
      get: async () =>
        isOverdue
          ? { state: "running", progress: null }
          : { state: "succeeded", outputs: [{ bytes: new Uint8Array(1) }], costUsd: null },
      cancel: async () => "unsupported",
    };
    const { job, attempt } = await follow(accepted, client);
    expect(job).toMatchObject({ status: "cancelled" });
    expect(attempt).toMatchObject({ state: isOverdue ? "failed" : "succeeded" });
    const spend = await readSpend(services.db, services.config, job?.ownerId ?? "");
    expect(spend).toMatchObject({ dayUsd: 0.04 });
  }
});

test("S5 past its deadline a bought picture is kept while the gate cannot look at it, and then taken", async () => {
  const before = opened;
  const config = {
    ...before.services.config,
    safety: { refuseInputs: {}, refuseResults: { text_to_image: 0.8 } },
  };
  opened = { ...before, services: { ...before.services, config } };
  try {
    const green = (await pictureOf("green")).toString("base64");
    [status, answer] = [200, `{"status":"succeeded","output":"data:image/png;base64,${green}"}`];
    const accepted = await acceptedJob({ isOverdue: true });
    const following = follow(accepted);
    const looks = async () => (await attemptsOf(opened.services.db, accepted.jobId))[0]?.polls ?? 0;
    await vi.waitUntil(async () => (await looks()) >= 3, { timeout: 8_000 });
    expect(await readJob(opened.services, accepted.jobId)).toMatchObject({ status: "processing" });
    await addTinyGateModel(opened.services.env);
    const { job, attempt } = await following;
    expect(job).toMatchObject({ status: "completed" });
    expect(attempt).toMatchObject({ state: "succeeded", errorClass: null });
    expect(await attemptsOf(opened.services.db, accepted.jobId)).toHaveLength(1);
  } finally {
    opened = before;
  }
});

test("S5 past its deadline a bought picture is taken although the database goes away for a look", async () => {
  const green = (await pictureOf("green")).toString("base64");
  [status, answer] = [200, `{"status":"succeeded","output":"data:image/png;base64,${green}"}`];
  const accepted = await acceptedJob({ isOverdue: true });
  const cut = { table: "jobs", when: "new.stage = 'fetching'", times: 2 };
  const { job, attempt } = await whileCut(opened.services, cut, () => follow(accepted));
  expect(job).toMatchObject({ status: "completed" });
  expect(attempt).toMatchObject({ state: "succeeded", errorClass: null });
});

test.each(["get", "cancel"] as const)(
  "R6 a worker that stops gives back at once a run whose `%s` has no answer, past its deadline too",
  async (call) => {
    const { services } = opened;
    const { jobId, ...held } = await acceptedJob({ isOverdue: true });
    if (call === "cancel") {
      const requested = { cancelRequestedAt: new Date() };
      await services.db.update(schema.jobs).set(requested).where(eq(schema.jobs.id, jobId));
    }
    const begun = Promise.withResolvers<void>();
    const silent = (_access: unknown, _handle: unknown, signal: AbortSignal) =>
      new Promise<never>((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(new ProviderError("timeout", "No answer.")));
        begun.resolve();
      });
    const loop = start(held, { ...clientOf("replicate"), [call]: silent });
    await begun.promise;
    await loop.stop();
    const given = { state: "accepted", finishToken: null, nodeId: null, errorClass: null };
    expect((await attemptsOf(services.db, jobId))[0]).toMatchObject(given);
    // What its user cancelled ends before the provider is asked.
    const left = call === "cancel" ? "cancelled" : "processing";
    expect(await readJob(services, jobId)).toMatchObject({ status: left });
  },
);

test("S5 a bought picture that could not be stored for a day is not bought again, at its price", async () => {
  const before = opened;
  const config = parseConfig({ cloud: { pollS: 0.2, onLateFailure: "next" } });
  opened = { ...before, services: { ...before.services, config } };
  const createdAt = new Date(Date.now() - 25 * 3_600_000);
  const accepted = await acceptedJob({ isOverdue: true, createdAt });
  const put = vi.spyOn(before.services.disk, "put").mockRejectedValue(new AppError("storage_unavailable"));
  try {
    const green = (await pictureOf("green")).toString("base64");
    [status, answer] = [200, `{"status":"succeeded","output":"data:image/png;base64,${green}"}`];
    const { job, attempt } = await follow(accepted);
    expect(job).toMatchObject({ status: "failed", errorCode: "storage_unavailable" });
    expect(attempt).toMatchObject({ errorClass: "unstored", costUsd: 0.04 });
  } finally {
    put.mockRestore();
    opened = before;
  }
});

const lateNext = parseConfig({
  cloud: { pollS: 0.2, maxPollS: 1, onLateFailure: "next", onLostReply: "next" },
});
const succeededWith = (bytes: Buffer) =>
  `{"status":"succeeded","output":"data:image/png;base64,${bytes.toString("base64")}"}`;

test.each([
  ["a damaged picture", {}, "engine_failed"],
  [
    "a picture for a mask that is gone",
    { takes: { kind: "inpaint", inputCount: 2 } } as const,
    "input_missing",
  ],
] as const)(
  "E5 a run that gives %s ends at the first look, at its price, and is not bought again",
  async (_name, more, errorCode) => {
    const usual = opened;
    opened = { ...usual, services: { ...usual.services, config: lateNext } };
    try {
      const whole = await readSample("chelsea.png");
      [status, answer] = [200, succeededWith(whole.subarray(0, whole.length / 2))];
      const before = asked;
      const { job, attempt } = await follow(await acceptedJob(more));
      expect(asked - before).toBe(1);
      expect(job).toMatchObject({ status: "failed", errorCode });
      expect(attempt).toMatchObject({ state: "failed", errorClass: "unstored", costUsd: 0.04 });
    } finally {
      opened = usual;
    }
  },
);

test.each([false, true])(
  "E5 a picture that an odd fault keeps from its job is tried again until its deadline (over: %s), then ends at its price",
  async (isOverdue) => {
    [status, answer] = [200, succeededWith(await pictureOf("green"))];
    const accepted = await acceptedJob({ isOverdue });
    const store = vi.spyOn(opened.services.db, "transaction").mockRejectedValueOnce(new Error("odd"));
    try {
      const { job, attempt } = await follow(accepted);
      expect(job?.status).toBe(isOverdue ? "failed" : "completed");
      expect(attempt).toMatchObject(
        isOverdue ? { errorClass: "unstored", costUsd: 0.04 } : { state: "succeeded", errorClass: null },
      );
    } finally {
      store.mockRestore();
    }
  },
);

test("R6 a run that its provider does not know yet is asked about again in its first minute, and is lost later", async () => {
  let unknown = 2;
  const client: ProviderClient = {
    ...clientOf("replicate"),
    get: async () => {
      if (unknown-- > 0) throw new ProviderError("input", "code 422: recordInfo is null");
      const error = new ProviderError("moderation", "It shows a person.");
      return { state: "failed", error, costUsd: null };
    },
  };
  // The provider took its time to accept it; the minute begins then.
  const createdAt = new Date(Date.now() - 200_000);
  const { attempt: young } = await follow(await acceptedJob({ createdAt, acceptedAt: new Date() }), client);
  expect(young).toMatchObject({ errorClass: "moderation" });
  for (const acceptedMs of [200_000, 62_000]) {
    unknown = 1;
    const acceptedAt = new Date(Date.now() - acceptedMs);
    const { attempt } = await follow(await acceptedJob({ createdAt, acceptedAt }), client);
    expect(attempt).toMatchObject({ state: "failed", errorClass: "lost" });
  }
});

test("R1 a run that fails while the database goes away ends its job as soon as that is back", async () => {
  [status, answer] = [200, '{"status":"failed","error":"made nothing"}'];
  const one = await acceptedJob();
  // Neither its end nor a later look can be noted at first.
  const when = "new.state = 'failed' or new.finish_token is null";
  const cut = { table: "provider_attempts", when, times: 2 };
  const { job, attempt } = await whileCut(opened.services, cut, () => follow(one));
  expect(attempt).toMatchObject({ state: "failed", errorMessage: "made nothing", polls: 0 });
  expect(job).toMatchObject({ status: "failed", errorCode: "provider_failed" });
});

test("R1 a run whose look cannot be noted while the database goes away is looked at again as soon as that is back", async () => {
  [status, answer] = [200, '{"status":"processing"}'];
  const one = await acceptedJob();
  const cut = { table: "provider_attempts", when: "new.finish_token is null", times: 2 };
  const before = asked;
  const { attempt } = await whileCut(opened.services, cut, async () => {
    const following = follow(one);
    await vi.waitUntil(() => asked > before, { timeout: 10_000 });
    answer = '{"status":"failed","error":"made nothing"}';
    return following;
  });
  expect(attempt).toMatchObject({ state: "failed", errorMessage: "made nothing" });
  expect(attempt?.polls).toBeGreaterThan(0);
});

test("R1 runs that were taken for a look whose answer a restart of the database cut are looked at again at once", async () => {
  const { db } = opened.services;
  [status, answer] = [200, '{"status":"failed","error":"made nothing"}'];
  const one = await acceptedJob();
  const real = db.execute.bind(db);
  const lost: string[] = [];
  const spy = vi.spyOn(db, "execute").mockImplementation((async (query: never) => {
    const rows: { id?: string; finish_token?: string }[] = await real(query);
    if (rows[0]?.finish_token === undefined || lost.length > 0) return rows;
    lost.push(...rows.map(({ id = "" }) => id));
    throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
  }) as never);
  try {
    const { job, attempt } = await follow(one);
    expect(lost).toEqual([attempt?.id]);
    expect(attempt).toMatchObject({ state: "failed", errorMessage: "made nothing" });
    expect(job).toMatchObject({ status: "failed" });
  } finally {
    spy.mockRestore();
  }
});

test.each([
  ["failed", "a failure", () => '{"status":"failed","error":"made nothing"}'],
  [
    "completed",
    "a success",
    async () =>
      `{"status":"succeeded","output":"data:image/png;base64,${(await pictureOf("green")).toString("base64")}"}`,
  ],
])(
  "R1 R6 a worker that stops does not wait for a database that takes no end of a run: it gives the run back, which is %s later: %s",
  async (end, _name, made) => {
    const { services } = opened;
    [status, answer] = [200, await made()];
    const one = await acceptedJob();
    const cut = {
      table: "provider_attempts",
      when: "new.state in ('failed', 'succeeded')",
      times: 1_000_000,
    };
    await whileCut(services, cut, async () => {
      const loop = start(one);
      const isCut = async () =>
        (await services.db.execute(sql`select 1 from cuts where is_called`)).length > 0;
      try {
        await vi.waitUntil(isCut, { timeout: 10_000 });
      } finally {
        await loop.stop();
      }
    });
    const given = { state: "accepted", finishToken: null, nodeId: null };
    expect((await attemptsOf(services.db, one.jobId))[0]).toMatchObject(given);
    const { job, attempt } = await follow(one);
    expect(attempt).toMatchObject({ state: end === "failed" ? "failed" : "succeeded" });
    expect(job).toMatchObject({ status: end });
  },
);

test("the lines of a look carry the id of the request that submitted the job", async () => {
  const { services } = opened;
  const { log, lines } = captureLog();
  answer = '{"status":"failed","error":"out of memory"}';
  const ids = ["from-the-web", null];
  for (const requestId of ids) {
    const accepted = await acceptedJob();
    await services.db.update(schema.jobs).set({ requestId }).where(eq(schema.jobs.id, accepted.jobId));
    await follow(accepted, undefined, { ...services, log });
  }
  const told = lines
    .map((line) => JSON.parse(line) as { msg: string; requestId?: string })
    .filter(({ msg }) => msg === "run failed at the provider");
  expect(told.map(({ requestId = null }) => requestId)).toEqual(ids);
});

test("E7 a clock of the database that is set ahead by hours makes no run overdue; time that was seen to pass does", async () => {
  const { services } = opened;
  const { clockStretches } = schema;
  onTestFinished(async () => void (await services.db.delete(clockStretches)));
  const overdue = async (seen: { readonly beganH: number; readonly seenH: number }) => {
    const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000);
    const { keyId, nodeId } = await acceptedJob({ createdAt: ago(6), acceptedAt: ago(6), isOverdue: true });
    await services.db
      .update(schema.providerAttempts)
      .set({ deadlineAt: ago(5) })
      .where(eq(schema.providerAttempts.keyId, keyId));
    await services.db.delete(clockStretches);
    await services.db
      .insert(clockStretches)
      .values({ beganAt: ago(seen.beganH), seenAt: ago(seen.seenH), missedMs: 0 });
    const look = async () => {
      const [due] = await takeDueAttempts(services, { nodeId, keyIds: [keyId], limit: 1 });
      return due && { isOverdue: due.isOverdue, hours: Math.round(due.ageMs / 3_600_000) };
    };
    const first = await look();
    await clockDuty.run(services, AbortSignal.timeout(60_000));
    return [first, await look()];
  };
  const young = { isOverdue: false, hours: 0 };
  expect(await overdue({ beganH: 100, seenH: 6 })).toEqual([young, young]);
  const old = { isOverdue: true, hours: 6 };
  expect(await overdue({ beganH: 100, seenH: 0 })).toEqual([old, old]);
});

test("E7 a late follower ends nothing that another process follows by now", async () => {
  const { services } = opened;
  const { jobId, keyId, nodeId } = await acceptedJob();
  const take = async () => {
    const [attempt] = await takeDueAttempts(services, { nodeId, keyIds: [keyId], limit: 1 });
    if (!attempt) throw new Error("nothing was due");
    return attempt;
  };
  const late = await take();
  const { providerAttempts } = schema;
  await services.db
    .update(providerAttempts)
    .set({ finishUntil: new Date(0) })
    .where(eq(providerAttempts.id, late.id));
  const holder = await take();
  const error = new ProviderError("timeout", "The run took too long.");
  const failure = { as: "failed", error, costUsd: null } as const;
  expect(await endCall(services, { attempt: late }, failure)).toBe("fenced");
  const result = { as: "made", outputs: [], costUsd: 0.04, shape: null } as const;
  expect(await endCall(services, { attempt: late }, result)).toBe("fenced");
  expect(await readJob(services, jobId)).toMatchObject({ status: "processing", providerAttemptId: late.id });
  expect(await endCall(services, { attempt: holder }, failure)).toBe("failed");
  expect(await readJob(services, jobId)).toMatchObject({ status: "failed" });
});

/** A store that takes no result until `open`; a client that notes which runs are asked about. */
async function slowStore() {
  const { disk } = opened.services;
  const open = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const put = disk.put.bind(disk);
  const spy = vi.spyOn(disk, "put").mockImplementation(async (key, ...given) => {
    if (key.startsWith("jobs/")) {
      begun.resolve();
      await open.promise;
    }
    await put(key, ...given);
  });
  const asked: string[] = [];
  const real = clientOf("replicate");
  const client: ProviderClient = {
    ...real,
    get(access, handle, signal) {
      asked.push(handle.externalId);
      return real.get(access, handle, signal);
    },
  };
  const green = (await pictureOf("green")).toString("base64");
  [status, answer] = [200, `{"status":"succeeded","output":"data:image/png;base64,${green}"}`];
  return { begun: begun.promise, client, asked, open: open.resolve, end: () => spy.mockRestore() };
}

/** Lets the lease of an attempt end so much earlier, and waits until it is held for long again. */
async function spend(jobId: string, seconds: number) {
  const { db } = opened.services;
  const { providerAttempts } = schema;
  const finishUntil = sql`${providerAttempts.finishUntil} - make_interval(secs => ${seconds})`;
  await db.update(providerAttempts).set({ finishUntil }).where(eq(providerAttempts.jobId, jobId));
  vi.advanceTimersByTime(seconds * 1_000);
  const isHeld = sql`${providerAttempts.jobId} = ${jobId} and ${providerAttempts.finishUntil} > clock_timestamp() + interval '2 minutes'`;
  await vi.waitUntil(async () => (await db.$count(providerAttempts, isHeld)) > 0, { timeout: 5_000 });
}

/** A job that ended well has one picture, and no other files in the store. */
async function expectStoredOnce(jobId: string) {
  const { services } = opened;
  const images = await services.db.select().from(schema.images).where(eq(schema.images.jobId, jobId));
  const folders = new Set<string>();
  for await (const page of listObjects(services.disk, `jobs/${jobId}`))
    for (const { key } of page) folders.add(path.dirname(key));
  expect(images).toHaveLength(1);
  expect([...folders]).toEqual(images.map(({ storageKey }) => storageKey));
}

test("F10 R6 a bought picture that takes minutes to store is fetched and stored once, whoever looks for work", async () => {
  const { services } = opened;
  const store = await slowStore();
  const { jobId, keyId, nodeId } = await acceptedJob();
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const loops = [start({ keyId, nodeId }, store.client)];
  try {
    await store.begun;
    for (let count = 0; count < 3; count += 1) {
      const other = await addNode(services, { queue: "cloud", needs: ["cloud/nano-banana"] });
      loops.push(start({ keyId, nodeId: other }, store.client));
    }
    for (let minute = 1; minute <= 4; minute += 1) await spend(jobId, 60);
    const decoy = await acceptedJob({ keyId, externalId: "another" });
    await vi.waitUntil(() => store.asked.includes("another"), { timeout: 5_000 });
    store.open();
    for (const id of [jobId, decoy.jobId])
      await vi.waitUntil(async () => (await readJob(services, id))?.status === "completed", {
        timeout: 10_000,
      });
  } finally {
    vi.useRealTimers();
    store.open();
    for (const loop of loops) await loop.stop();
    store.end();
  }
  expect(store.asked.toSorted()).toEqual(["another", "run"]);
  await expectStoredOnce(jobId);
});

test("F10 R6 a bought picture that a worker's store never takes is stored by another worker, once", async () => {
  const { services } = opened;
  const store = await slowStore();
  const { jobId, keyId, nodeId } = await acceptedJob();
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const loops = [start({ keyId, nodeId }, store.client)];
  try {
    await store.begun;
    store.end();
    for (let minute = 1; minute <= 30; minute += 1) await spend(jobId, 60);
    const over = { finishUntil: new Date(0) };
    await services.db
      .update(schema.providerAttempts)
      .set(over)
      .where(eq(schema.providerAttempts.jobId, jobId));
    vi.advanceTimersByTime(5 * 60_000);
    const other = await addNode(services, { queue: "cloud", needs: ["cloud/nano-banana"] });
    loops.push(start({ keyId, nodeId: other }, store.client));
    await vi.waitUntil(async () => (await readJob(services, jobId))?.status === "completed", {
      timeout: 10_000,
    });
  } finally {
    vi.useRealTimers();
    store.open();
    for (const loop of loops) await loop.stop();
    store.end();
  }
  expect(store.asked).toEqual(["run", "run"]);
  await expectStoredOnce(jobId);
});

test("R6 a process whose hold on a run is over does not take the run from itself", async () => {
  const { services } = opened;
  const store = await slowStore();
  const { jobId, keyId, nodeId } = await acceptedJob();
  const loop = start({ keyId, nodeId }, store.client);
  try {
    await store.begun;
    const { providerAttempts } = schema;
    // As after an outage of the database in which nothing could be renewed.
    const over = { finishUntil: new Date(0) };
    await services.db.update(providerAttempts).set(over).where(eq(providerAttempts.jobId, jobId));
    await acceptedJob({ keyId, externalId: "another" });
    await vi.waitUntil(() => store.asked.includes("another"), { timeout: 5_000 });
    store.open();
    await vi.waitUntil(async () => (await readJob(services, jobId))?.status === "completed", {
      timeout: 10_000,
    });
  } finally {
    store.open();
    await loop.stop();
    store.end();
  }
  expect(store.asked.filter((id) => id === "run")).toHaveLength(1);
  await expectStoredOnce(jobId);
});

const endedNow = () => ({ status: "cancelled" as const, cancelRequestedAt: new Date(), endedAt: new Date() });

const calls = ["the call's answer was lost", "the provider could not be asked"] as const;

test.each(calls)(
  "D6 E5 the run of a job that was cancelled while %s is stopped at a later look",
  async (why) => {
    const { services } = opened;
    const isLost = why === "the call's answer was lost";
    const accepted = await acceptedJob({ isLost });
    const { jobs } = schema;
    const isCancelled = isLost ? endedNow() : { cancelRequestedAt: new Date() };
    await services.db.update(jobs).set(isCancelled).where(eq(jobs.id, accepted.jobId));
    [status, answer] = [200, `{"status":"processing"}`];
    const statuses: (string | undefined)[] = [];
    const found: string[] = [];
    const client: ProviderClient = {
      ...clientOf("replicate"),
      find: async () => (found.push("run"), { endpoint: "google/nano-banana", externalId: "run", urls: {} }),
      async cancel(_access, { externalId }) {
        expect(externalId).toBe("run");
        statuses.push((await readJob(services, accepted.jobId))?.status);
        if (!isLost && statuses.length === 1) throw new ProviderError("transient", "HTTP 503");
        answer = `{"status":"canceled"}`;
        return "requested";
      },
    };
    const { job, attempt } = await follow(accepted, client);
    expect([job?.status, attempt?.state]).toEqual(["cancelled", "cancelled"]);
    expect(found).toEqual(isLost ? ["run"] : []);
    // It had ended before the provider was asked, which may take long to answer.
    expect(new Set(statuses)).toEqual(new Set(["cancelled"]));
  },
);

test("E5 a run whose job has ended is asked to stop when its state is not known, but not with a key that gets no answers", async () => {
  const { services } = opened;
  const classes = ["rate", "auth", "credit", "transient", "input"] as const;
  const callsAfter = async (reason: (typeof classes)[number]) => {
    const accepted = await acceptedJob();
    await services.db.update(schema.jobs).set(endedNow()).where(eq(schema.jobs.id, accepted.jobId));
    const made: string[] = [];
    const client: ProviderClient = {
      ...clientOf("replicate"),
      async get() {
        made.push("get");
        if (made.filter((call) => call === "get").length === 1) throw new ProviderError(reason, "No state.");
        return { state: "cancelled", costUsd: null };
      },
      cancel: async () => (made.push("cancel"), "requested"),
    };
    await follow(accepted, client);
    return made;
  };
  const [silent, asked] = [
    ["get", "get"],
    ["get", "cancel", "get"],
  ];
  expect(await Promise.all(classes.map(callsAfter))).toEqual([silent, silent, silent, asked, asked]);
});
