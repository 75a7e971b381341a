import { randomBytes } from "node:crypto";
import { addImage } from "@atelier/testing/jobs";
import { eq, sql } from "drizzle-orm";
import sharp from "sharp";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { schema } from "../../db/index.ts";
import { newId } from "../../platform/index.ts";
import { type ClientScene, completeJob, drawPng, openClientScene } from "../clients/fixtures/scene.ts";

let scene: ClientScene;
beforeAll(async () => {
  scene = await openClientScene();
}, 60_000);
afterAll(() => scene.close());

interface Asked extends Pick<RequestInit, "method" | "signal"> {
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

const ask = ({ headers, ...init }: Asked) =>
  scene.app.fetch(
    new Request("http://localhost/mcp", {
      ...init,
      headers: {
        authorization: `Bearer ${scene.owner.key}`,
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        ...headers,
      },
    }),
  );

/** The messages of an answer, which is JSON or a stream of events. */
async function send(message: unknown, headers: Record<string, string> = {}) {
  const body = typeof message === "string" ? message : JSON.stringify(message);
  const response = await ask({ method: "POST", body, headers });
  const text = await response.text();
  const [, data = text] = /^data: (.*)$/m.exec(text) ?? [];
  return { status: response.status, session: response.headers.get("mcp-session-id"), ...parse(data) };
}
const parse = (text: string) => (text === "" ? {} : JSON.parse(text));

test("a page of another site is refused", async () => {
  const message = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
  expect(await send(message, { origin: "https://evil.example" })).toMatchObject({
    status: 403,
    jsonrpc: "2.0",
  });
});

test("what clients send amiss is answered by JSON-RPC, and never as a fault of the server", async () => {
  const asked = (id: unknown, method: string, params: object = {}) => ({
    jsonrpc: "2.0",
    id,
    method,
    params,
  });
  const info = { capabilities: {}, clientInfo: { name: "old", version: "1" } };
  const begun = await send(asked(0, "initialize", { ...info, protocolVersion: "1999-01-01" }));
  expect([begun.id, begun.result.protocolVersion]).toEqual([0, "2025-11-25"]);
  expect(begun.session).toMatch(/^[\x21-\x7e]+$/);
  for (const id of ["a", "", 0, 7]) expect(await send(asked(id, "ping"))).toMatchObject({ id, result: {} });
  const list = asked(1, "tools/list");
  const faults: [unknown, Record<string, string>, number, number][] = [
    [[list, list], {}, 400, -32_600],
    ["{", {}, 400, -32_700],
    [{ id: 1 }, {}, 400, -32_700],
    [asked(null, "ping"), {}, 400, -32_700],
    [list, { accept: "text/html" }, 406, -32_000],
    [list, { "content-type": "text/plain" }, 415, -32_000],
    [list, { "mcp-protocol-version": "1999-01-01" }, 400, -32_000],
    ["x".repeat(26_000_000), {}, 413, -32_000],
    [asked(1, "nothing"), {}, 200, -32_601],
    [asked(1, "resources/subscribe", { uri: "atelier://pictures/1" }), {}, 200, -32_601],
    [asked(1, "resources/list", { cursor: "nothing" }), {}, 200, -32_602],
    [asked(1, "resources/read", { uri: "atelier://pictures/1" }), {}, 200, -32_002],
    [asked(1, "resources/read", { uri: "file:///etc/passwd" }), {}, 200, -32_002],
    [asked(1, "prompts/get", { name: "nothing" }), {}, 200, -32_602],
    [asked(1, "prompts/get", { name: "improve_prompt" }), {}, 200, -32_602],
    [asked(1, "tools/call", { name: "nothing" }), {}, 200, -32_602],
    [asked(1, "tools/call", { name: "list_models", task: {} }), {}, 200, -32_601],
    [asked(1, "tools/call", { name: "generate_image", task: {} }), {}, 200, -32_602],
    [asked(1, "tasks/get", { taskId: "nothing" }), {}, 200, -32_602],
    [asked(1, "tasks/list", { cursor: "nothing" }), {}, 200, -32_602],
  ];
  for (const [message, headers, status, code] of faults)
    expect(await send(message, headers)).toMatchObject({ status, jsonrpc: "2.0", error: { code } });
  const missing = await send(
    asked(1, "tools/call", { name: "generate_image", arguments: { width: "wide" } }),
  );
  expect(missing.result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringMatching(/bad_request.*prompt.*width/s) }],
  });
  // A session is a name alone: one that the studio never gave does no harm.
  expect((await send(list, { "mcp-session-id": "made up" })).result.tools.length).toBeGreaterThan(10);
  for (const method of ["GET", "DELETE"])
    expect((await ask({ method, headers: { "mcp-session-id": "made up" } })).status).toBe(405);
  const left = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 99 } };
  expect((await send(left, { "mcp-session-id": "made up" })).status).toBe(202);
});

test("a client gets what it names, JSON where it names anything or nothing", async () => {
  const body = JSON.stringify(order(1));
  const typeFor = async (accept: string) => {
    const response = await ask({ method: "POST", body, headers: { accept } });
    const text = await response.text();
    expect([accept, response.status, text]).toEqual([accept, 200, expect.stringContaining('"jobs')]);
    return response.headers.get("content-type");
  };
  for (const accept of ["application/json", "*/*", "application/json;q=0.9, */*;q=0.1", ""])
    expect(await typeFor(accept)).toBe("application/json");
  for (const accept of ["text/event-stream", "text/event-stream, application/json", "TEXT/Event-Stream"])
    expect(await typeFor(accept)).toBe("text/event-stream");
});

test("null stands for what is left out of a message, and a text of JSON for the arguments of a tool", async () => {
  const call = (params: unknown) => send({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const listed = { id: 1, result: { tools: expect.any(Array) } };
  expect(await send({ jsonrpc: "2.0", id: 1, method: "tools/list", params: null })).toMatchObject(listed);
  const note = { jsonrpc: "2.0", id: null, method: "notifications/initialized", params: null };
  expect((await send(note)).status).toBe(202);
  for (const given of [null, "", "{}", undefined, {}]) {
    const { result } = await call({ name: "list_models", arguments: given });
    expect([given, result.isError, result.content[0].text]).toEqual([
      given,
      undefined,
      expect.stringContaining('"models"'),
    ]);
  }
  const { result } = await call({ name: "generate_image", arguments: '{"width":"wide","prompt":"a house"}' });
  expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/width/) }] });
  for (const given of ["[]", "nothing", "1", 1, []])
    expect(await call({ name: "list_models", arguments: given })).toMatchObject({ id: 1, error: {} });
  for (const params of ["x", 1, []])
    expect(await send({ jsonrpc: "2.0", id: 1, method: "ping", params })).toHaveProperty("error");
});

test("arguments that say nothing, or come as texts, are those that were meant; a consent is never made of a text", async () => {
  const use = async (name: string, given: object) => {
    const { result } = await about("tools/call", { name, arguments: given });
    return { isError: result.isError === true, ...JSON.parse(result.content[0].text) };
  };
  const loose = { width: "512", height: 512, count: "2", seed: null, negativePrompt: "", model: "null" };
  const { jobs, isError } = await use("generate_image", { prompt: "a house", waitSeconds: "0", ...loose });
  expect([isError, jobs.length]).toEqual([false, 2]);
  const [job] = await scene.services.db.select().from(schema.jobs).where(eq(schema.jobs.id, jobs[0].jobId));
  expect(job?.params).toMatchObject({ prompt: "a house", width: 512, height: 512 });
  const png = await drawPng("red");
  const sent = { base64: `DATA:image/png;base64,\n${png.toString("base64")}`, url: "" };
  expect(await use("add_picture", sent)).toMatchObject({ isError: false, widthPx: 24 });
  const faults: [string, object, RegExp][] = [
    ["generate_image", { prompt: null, width: "512" }, /prompt/],
    ["generate_image", { prompt: "a house", width: "wide" }, /width/],
    ["generate_image", { prompt: "a house", maxPriceUsd: "free" }, /maxPriceUsd/],
    ["add_picture", { url: null, base64: "" }, /either url or base64/],
    ["change_outfit", { personId: newId(), garmentIds: [newId()], consent: "true" }, /consent/],
  ];
  for (const [name, given, words] of faults)
    expect(await use(name, given)).toMatchObject({
      isError: true,
      error: "bad_request",
      message: expect.stringMatching(words),
    });
});

test.each(
  [null, "", "null", "None", "undefined"].flatMap((nothing) =>
    ["model", "negativePrompt", "seed"].map((name) => [name, nothing] as const),
  ),
)("%s that is %j alone is left out", async (name, nothing) => {
  const given = { prompt: "None", waitSeconds: 0, [name]: nothing };
  const { result } = await about("tools/call", { name: "generate_image", arguments: given });
  const { jobs } = JSON.parse(result.content[0].text);
  const [job] = await scene.services.db.select().from(schema.jobs).where(eq(schema.jobs.id, jobs[0].jobId));
  expect(job?.params).toMatchObject({ prompt: "None" });
  expect(job?.params).not.toHaveProperty("negativePrompt", nothing);
});

test("the schemas of the tools say what each value is, as the inspector asks", async () => {
  const { result } = await send({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  // A schema of nothing takes any value, at whatever depth; a default of nothing is a value.
  const unsaid = (value: unknown, at: string): string[] => {
    if (typeof value !== "object" || value === null || at.endsWith(".default")) return [];
    const within = Object.entries(value).flatMap(([name, inner]) => unsaid(inner, `${at}.${name}`));
    return Object.keys(value).length === 0 && !at.endsWith(".properties") ? [at] : within;
  };
  for (const { name, inputSchema } of result.tools) {
    expect(JSON.stringify(inputSchema)).not.toMatch(/\$ref/);
    // Gemini refuses every tool of a program for one of these.
    expect(JSON.stringify(inputSchema)).not.toMatch(/"propertyNames"|"type":\[/);
    expect(unsaid(inputSchema, name)).toEqual([]);
  }
});

const order = (id: number, { count = 1, task }: { count?: number; task?: object } = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: {
    name: "generate_image",
    arguments: { prompt: "a house", count, waitSeconds: 0 },
    ...(task ? { task } : {}),
  },
});
const cancelOf = (requestId: number) => ({
  jsonrpc: "2.0",
  method: "notifications/cancelled",
  params: { requestId },
});
const about = (method: string, params: object = {}) => send({ jsonrpc: "2.0", id: 1, method, params });
const countJobs = () => scene.services.db.$count(schema.jobs);

test.each([["a call", {}] as const, ["a call that becomes a task", { task: {} }] as const])(
  "a cancel that comes before %s keeps it from ordering anything",
  async (_name, options) => {
    const session = { "mcp-session-id": newId() };
    const before = await countJobs();
    expect((await send(cancelOf(5), session)).status).toBe(202);
    expect(JSON.stringify(await send(order(5, options), session))).toMatch(/The call was cancelled/);
    expect(await countJobs()).toBe(before);
    // Ids of other sessions are others' calls.
    expect(JSON.stringify(await send(order(5, options)))).not.toMatch(/The call was cancelled/);
    expect(await countJobs()).toBe(before + 1);
  },
);

test("a cancel that comes while the jobs of its call are stored ends those before and those after it", async () => {
  const session = { "mcp-session-id": newId() };
  const before = await countJobs();
  const called = send(order(6, { count: 8 }), session);
  await vi.waitUntil(async () => (await countJobs()) > before, { interval: 1 });
  await send(cancelOf(6), session);
  await called;
  const { db } = scene.services;
  const last = await db.execute(
    sql`select status from jobs order by id desc limit ${(await countJobs()) - before}`,
  );
  expect(last.map(({ status }) => status)).toEqual(last.map(() => "cancelled"));
});

test("a cancelled task never turns completed, whatever its jobs bring", async () => {
  const { db } = scene.services;
  const begun = async (count: number) => {
    const { taskId } = (await send(order(7, { count, task: {} }))).result.task;
    const own = eq(schema.jobs.sessionId, `mcp:task:${taskId}`);
    const jobs = await db.select({ id: schema.jobs.id }).from(schema.jobs).where(own);
    return { taskId, jobIds: jobs.map(({ id }) => id) };
  };
  const statuses = async (taskId: string) => {
    const { tasks } = (await about("tasks/list")).result;
    const listed = tasks.find((task: { taskId: string }) => task.taskId === taskId);
    return [(await about("tasks/get", { taskId })).result.status, listed.status];
  };
  const png = await drawPng("green");
  const running = await begun(1);
  await db
    .update(schema.jobs)
    .set({ status: "processing" })
    .where(eq(schema.jobs.id, running.jobIds[0] ?? ""));
  expect((await about("tasks/cancel", { taskId: running.taskId })).result.status).toBe("cancelled");
  expect(await statuses(running.taskId)).toEqual(["cancelled", "cancelled"]);
  await completeJob(scene, running.jobIds[0] ?? "", png);
  expect(await statuses(running.taskId)).toEqual(["cancelled", "cancelled"]);
  const half = await begun(2);
  await completeJob(scene, half.jobIds[0] ?? "", png);
  expect(await statuses(half.taskId)).toEqual(["working", "working"]);
  expect((await about("tasks/cancel", { taskId: half.taskId })).result.status).toBe("cancelled");
  expect(await statuses(half.taskId)).toEqual(["cancelled", "cancelled"]);
  expect((await about("tasks/cancel", { taskId: half.taskId })).error.message).toMatch(/it is cancelled/);
});

test("a list of tasks has each of them once and whole, also where a page ends among their jobs", async () => {
  const { db, owner } = { ...scene.services, owner: scene.stranger };
  await send(order(8), { authorization: `Bearer ${owner.key}` });
  const count = 120;
  // The first job of each task is done before the second one of any: pages by job would part all of them.
  await db.transaction(async (tx) => {
    await tx.execute(sql`
      insert into jobs select (jsonb_populate_record(j, jsonb_build_object(
        'id', format('01900000-0000-7000-8000-%s', lpad((n + ${count} * half)::text, 12, '0')),
        'session_id', format('mcp:task:01900000-0000-7000-8000-%s', lpad(n::text, 12, '0')),
        'status', case half when 0 then 'completed' else 'pending' end, 'revision', 1))).*
      from jobs j, generate_series(1, ${count}) n, generate_series(0, 1) half where owner_id = ${owner.id}`);
    await tx.execute(sql`
      insert into job_events (job_id, revision, type, status)
      select id, 1, 'created', status from jobs where owner_id = ${owner.id} on conflict do nothing`);
  });
  const ask = async (cursor?: string) =>
    (
      await send(
        { jsonrpc: "2.0", id: 1, method: "tasks/list", params: cursor === undefined ? {} : { cursor } },
        { authorization: `Bearer ${owner.key}` },
      )
    ).result;
  const tasks: { taskId: string; status: string }[] = [];
  let page = await ask();
  while (page.nextCursor !== undefined) {
    tasks.push(...page.tasks);
    page = await ask(page.nextCursor);
  }
  tasks.push(...page.tasks);
  const ids = tasks.map(({ taskId }) => taskId);
  expect([ids.length, new Set(ids).size]).toEqual([count, count]);
  expect(ids).toEqual(ids.toSorted().toReversed());
  expect(new Set(tasks.map(({ status }) => status))).toEqual(new Set(["working"]));
});

test("pictures are resources by pages, and an original is sent up to a size", async () => {
  const { services, owner, stranger } = scene;
  const first = await addImage(services, owner.id);
  await services.db.execute(sql`
    insert into images select (jsonb_populate_record(i, jsonb_build_object('id', gen_random_uuid(),
      'storage_key', concat(storage_key, n), 'upload_sha256', null, 'created_at', created_at - n * interval '1 second'))).*
    from images i, generate_series(1, 50) n where id = ${first}`);
  const { resources, nextCursor } = (await about("resources/list")).result;
  expect(resources.length).toBe(50);
  const rest = (await about("resources/list", { cursor: nextCursor })).result;
  const uris = [...resources, ...rest.resources].map(({ uri }: { uri: string }) => uri);
  expect(new Set(uris).size).toBe(uris.length);
  expect(uris.length).toBeGreaterThan(50);
  expect(rest.nextCursor).toBeUndefined();
  const [uri = ""] = uris;
  const id = uri.split("/").at(-1) ?? "";
  await services.db.update(schema.images).set({ sizeBytes: 9_000_000 }).where(eq(schema.images.id, id));
  const { error } = await about("resources/read", { uri: `${uri}/original` });
  expect([error.code, error.message]).toEqual([-32_602, expect.stringContaining(`Read ${uri},`)]);
  const read = { jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri } };
  const other = await send(read, { authorization: `Bearer ${stranger.key}` });
  expect(other.error).toMatchObject({ code: -32_002, data: { uri } });
});

test("a client that goes while its picture is read leaves nothing behind", async () => {
  const id = await addImage(scene.services, scene.owner.id);
  const held = Promise.withResolvers<never>();
  const opening = vi.spyOn(scene.services.disk, "open").mockReturnValue(held.promise);
  const leaving = new AbortController();
  const params = { uri: `atelier://pictures/${id}/original` };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "resources/read", params });
  const asked = ask({ method: "POST", body, signal: leaving.signal });
  await vi.waitUntil(() => opening.mock.calls.length > 0, { timeout: 10_000, interval: 20 });
  leaving.abort();
  const { status } = await asked;
  held.reject(new Error("gone"));
  opening.mockRestore();
  expect(status).toBe(499);
});

test("what answers at once is JSON, since programs bound the size of an event", async () => {
  const id = await addImage(scene.services, scene.owner.id);
  const typeOf = async (method: string, params: object = {}) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const response = await ask({ method: "POST", body });
    await response.text();
    return response.headers.get("content-type");
  };
  const uri = `atelier://pictures/${id}`;
  expect(await typeOf("resources/read", { uri })).toBe("application/json");
  expect(await typeOf("tools/list")).toBe("application/json");
  for (const method of ["tools/call", "tasks/result"])
    expect([method, await typeOf(method, { name: "list_models" })]).toEqual([method, "text/event-stream"]);
});

test("a result is an event of at most a mebibyte, whatever its pictures show", async () => {
  const noise = (sizePx: number) =>
    sharp(randomBytes(sizePx * sizePx * 3), { raw: { width: sizePx, height: sizePx, channels: 3 } })
      .png()
      .toBuffer();
  const made = async (count: number, sizePx: number) => {
    const { taskId } = (await send(order(9, { count, task: {} }))).result.task;
    const own = eq(schema.jobs.sessionId, `mcp:task:${taskId}`);
    const jobs = await scene.services.db.select({ id: schema.jobs.id }).from(schema.jobs).where(own);
    for (const { id } of jobs) await completeJob(scene, id, await noise(sizePx));
    return (await about("tasks/result", { taskId })).result;
  };
  interface Shown {
    readonly type: string;
    readonly data: string;
  }
  const widthsOf = (result: { content: Shown[] }) =>
    Promise.all(
      result.content
        .filter(({ type }) => type === "image")
        .map(async ({ data }) => (await sharp(Buffer.from(data, "base64")).metadata()).width),
    );
  const small = await made(4, 300);
  expect(await widthsOf(small)).toEqual([300, 300, 300, 300]);
  const large = await made(4, 1_300);
  expect(JSON.stringify(large).length).toBeLessThan(1_000_000);
  expect(await widthsOf(large)).toEqual([320, 320, 320, 320]);
  const pictureId = JSON.parse(large.content[0].text).jobs[0].pictures[0].pictureId;
  const show = { name: "show_picture", arguments: { pictureId } };
  const { result } = await about("tools/call", show);
  expect(JSON.stringify(result).length).toBeLessThan(1_000_000);
  expect(await widthsOf(result)).toHaveLength(1);
});
