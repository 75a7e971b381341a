import { readFile } from "node:fs/promises";
import path from "node:path";
import { startIopaintSimulator, type IopaintSimulator } from "@atelier/testing/iopaint";
import { insertJob } from "@atelier/testing/jobs";
import {
  grownBy,
  listObjects,
  listTempFiles,
  pngChunk,
  withPngChunk,
  withTextBombs,
} from "@atelier/testing/pictures";
import { testOrigin } from "@atelier/testing/services";
import { startTestWorker, type TestWorker } from "@atelier/testing/worker";
import { eq, sql } from "drizzle-orm";
import type { Hono } from "hono";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { schema } from "../../db/index.ts";
import { purgeImages } from "../../images/index.ts";
import { createHttpApp } from "../index.ts";
import { type ClientScene, openClientScene } from "./fixtures/scene.ts";

const { jobs, images } = schema;
const sizePx = { width: 60, height: 40 } as const;
/** Marked on the mask. */
const box = { left: 20, top: 10, width: 16, height: 12 } as const;

type Format = "jpeg" | "png" | "webp";

async function drawPicture(format: Format): Promise<Buffer> {
  const data = Buffer.from(Array.from({ length: sizePx.width * sizePx.height * 3 }, (_, i) => (i * 7) % 251));
  const picture = sharp(data, { raw: { ...sizePx, channels: 3 } }).blur(3);
  return format === "webp"
    ? picture.webp({ lossless: true }).toBuffer()
    : picture.toFormat(format).toBuffer();
}

async function drawMask({ width, height } = sizePx): Promise<Buffer> {
  const white = { width: box.width, height: box.height, channels: 3 as const, background: "white" };
  const input = await sharp({ create: white }).png().toBuffer();
  return sharp({ create: { width, height, channels: 3, background: "black" } })
    .composite([{ input, left: box.left, top: box.top }])
    .png()
    .toBuffer();
}

const base64 = (bytes: Buffer) => bytes.toString("base64");
const rgb = (bytes: Buffer | Uint8Array) => sharp(bytes).removeAlpha().raw().toBuffer();

/** How far the pixels of two pictures differ at most, on and off the mask. */
async function differences(before: Buffer, after: Buffer) {
  const [a, b] = [await rgb(before), await rgb(after)];
  const most = { inside: 0, outside: 0 };
  a.forEach((value, at) => {
    const pixel = Math.floor(at / 3);
    const [x, y] = [pixel % sizePx.width, Math.floor(pixel / sizePx.width)];
    const isIn = x >= box.left && x < box.left + box.width && y >= box.top && y < box.top + box.height;
    const side = isIn ? "inside" : "outside";
    most[side] = Math.max(most[side], Math.abs(value - (b[at] ?? 0)));
  });
  return most;
}

let scene: ClientScene;
let http: Hono;
let server: IopaintSimulator;
let worker: TestWorker;

beforeAll(async () => {
  scene = await openClientScene();
  http = createHttpApp(scene.services);
  // The nodes of the scene run nothing.
  await scene.services.db.delete(schema.nodes);
  server = await startIopaintSimulator();
  worker = await startTestWorker(scene.services, { env: { IOPAINT_URLS: server.url } });
  const { nodeQueues } = schema;
  await vi.waitUntil(
    async () =>
      (await scene.services.db.$count(nodeQueues, sql`'iopaint/inpaint' = any(${nodeQueues.needs})`)) > 0,
    { timeout: 30_000, interval: 50 },
  );
}, 60_000);
afterAll(async () => {
  await worker.term();
  await server.close();
  await scene.close();
});

function post(to: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  const app = to.startsWith("/api/v1") ? http : scene.app;
  const headers = { authorization: `Bearer ${scene.owner.key}`, "content-type": "application/json" };
  const request = new Request(`${testOrigin}${to}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
  return Promise.resolve(app.fetch(request));
}

async function expectNothingLeft(): Promise<void> {
  const { db } = scene.services;
  const left = async () => (await db.$count(jobs)) + (await db.$count(images));
  await vi.waitUntil(async () => (await left()) === 0, { timeout: 10_000, interval: 20 });
  await vi.waitUntil(async () => (await listObjects(scene.services)).length === 0, { timeout: 5_000 });
  // The folder of a run goes a moment after its rows.
  await vi.waitFor(async () => expect(await listTempFiles(scene.services)).toEqual([]));
}

interface Recorded {
  readonly name: string;
  readonly path: string;
  readonly input: Format;
  readonly body: Readonly<Record<string, unknown>>;
  readonly seed: string;
}

const recorded = JSON.parse(
  await readFile(path.join(import.meta.dirname, "fixtures/iopaint.json"), "utf8"),
) as readonly Recorded[];

test.each(recorded)("D2 recorded: $name", async ({ path: to, input, body, seed }) => {
  const picture = await drawPicture(input);
  const text = JSON.stringify(body)
    .replace("{image}", base64(picture))
    .replace("{mask}", base64(await drawMask()));
  const response = await post(to, JSON.parse(text));
  expect([response.status, response.headers.get("content-type")]).toEqual([200, `image/${input}`]);
  expect(response.headers.get("x-seed")).toMatch(seed === "random" ? /^\d+$/ : new RegExp(`^${seed}$`));
  const answer = Buffer.from(await response.arrayBuffer());
  expect(await sharp(answer).metadata()).toMatchObject({ format: input, ...sizePx });
  const { inside, outside } = await differences(picture, answer);
  expect(inside).toBeGreaterThan(30);
  // A JPEG is encoded twice on its way.
  expect(outside).toBeLessThanOrEqual(input === "jpeg" ? 12 : 0);
  await expectNothingLeft();
});

test.each([
  ["RealESRGAN", { scale: 2 }, { width: 120, height: 80 }, undefined],
  ["RealESRGAN", { scale: 4.0 }, { width: 240, height: 160 }, undefined],
  ["RemoveBG", {}, sizePx, true],
  ["GFPGAN", {}, sizePx, undefined],
  ["RestoreFormer", { clicks: [] }, sizePx, undefined],
] as const)("D2 plugin %s %o", async (name, settings, size, hasAlpha) => {
  const image = base64(await drawPicture("png"));
  const response = await post("/iopaint/api/v1/run_plugin_gen_image", { name, image, ...settings });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "image/png"]);
  const answer = await sharp(Buffer.from(await response.arrayBuffer())).metadata();
  expect(answer).toMatchObject({ format: "png", ...size, ...(hasAlpha ? { hasAlpha } : {}) });
  await expectNothingLeft();
});

const [marked, clear] = [
  [255, 203, 0, 186],
  [0, 0, 0, 0],
];

/** The colour at each place of a mask, as editors lay it over the picture. */
async function readOverlay(response: Response) {
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "image/png"]);
  const { data, info } = await sharp(Buffer.from(await response.arrayBuffer()))
    .raw()
    .toBuffer({ resolveWithObject: true });
  expect(info).toMatchObject({ ...sizePx, channels: 4 });
  return (x: number, y: number) => [...data.subarray((y * sizePx.width + x) * 4).subarray(0, 4)];
}

test("D2 a mask of the subject, as editors lay it over the picture", async () => {
  const image = base64(await drawPicture("png"));
  const response = await post("/iopaint/api/v1/run_plugin_gen_mask", { name: "RemoveBG", image, clicks: [] });
  const at = await readOverlay(response);
  // The simulator takes an ellipse in the middle for the subject: its edge is at x = 6, and 4 pixels are added.
  expect([at(30, 20), at(4, 20), at(1, 20), at(0, 0)]).toEqual([marked, marked, clear, clear]);
  await expectNothingLeft();
});

test("D2 a mask of what the clicks select", async () => {
  const image = base64(await drawPicture("png"));
  const clicks = [
    [20, 10, 1],
    [40, 30, 1],
    [45, 30, 0],
  ];
  const response = await post("/iopaint/api/v1/run_plugin_gen_mask", {
    name: "InteractiveSeg",
    image,
    clicks,
  });
  const at = await readOverlay(response);
  // The simulator selects discs of 6 pixels, and takes away what is in reach of an excluding click.
  expect([at(20, 10), at(35, 30), at(40, 30), at(5, 35)]).toEqual([marked, marked, clear, clear]);
  await expectNothingLeft();
});

describe("refused", () => {
  const both = async () => ({ image: base64(await drawPicture("png")), mask: base64(await drawMask()) });

  test.each([
    [
      "a mask of another size",
      async () => ({ mask: base64(await drawMask({ width: 61, height: 40 } as never)) }),
      400,
    ],
    ["no mask", () => ({ mask: undefined }), 400],
    ["no base64", () => ({ image: "!!!!" }), 415],
    ["a text instead of a picture", () => ({ image: base64(Buffer.from("not a picture at all")) }), 415],
    ["outpainting", () => ({ use_extender: true }), 400],
    ["a part of the picture alone", () => ({ use_croper: true }), 400],
    ["an example picture", () => ({ paint_by_example_example_image: "x" }), 400],
    ["a prompt without an engine for it", () => ({ prompt: "a cat" }), 422],
  ] as const)("D2 D8 %s: IOPaint's shape of errors, and nothing is left", async (_name, change, status) => {
    const response = await post("/iopaint/api/v1/inpaint", { ...(await both()), ...(await change()) });
    expect(response.status).toBe(status);
    const body = {
      error: expect.any(String),
      detail: expect.any(String),
      body: "",
      errors: expect.any(String),
    };
    expect(await response.json()).toEqual(body);
    await expectNothingLeft();
  });

  test("D2 unknown plugins and models, scales of no engine, wrong bodies", async () => {
    const { image } = await both();
    const answers = [
      await post("/iopaint/api/v1/run_plugin_gen_image", { name: "Nothing", image }),
      await post("/iopaint/api/v1/run_plugin_gen_mask", {
        name: "RealESRGAN",
        image,
        clicks: [[1, 1, 1]],
      }),
      await post("/iopaint/api/v1/run_plugin_gen_image", { name: "InteractiveSeg", image }),
      await post("/iopaint/api/v1/run_plugin_gen_mask", { name: "InteractiveSeg", image, clicks: [] }),
      await post("/iopaint/api/v1/run_plugin_gen_mask", {
        name: "InteractiveSeg",
        image,
        clicks: [[60, 1, 1]],
      }),
      await post("/iopaint/api/v1/run_plugin_gen_image", { name: "RealESRGAN", image, scale: 3 }),
      await post("/iopaint/api/v1/model", { name: "sdxl" }),
      await post("/iopaint/api/v1/inpaint", []),
      await post("/iopaint/api/v1/adjust_mask", { mask: image, operate: "grow" }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([422, 422, 422, 400, 400, 400, 422, 400, 400]);
  });

  test("D2 a body above the limit is refused by its announced length", async () => {
    const response = await scene.send("/iopaint/api/v1/inpaint", {
      method: "POST",
      headers: { "content-length": String(200 * 1_048_576) },
      body: "{}",
    });
    expect(response.status).toBe(413);
  });
});

test("D2 a failed run is told in IOPaint's shape", async () => {
  const black = { ...sizePx, channels: 3 as const, background: "black" };
  const response = await post("/iopaint/api/v1/inpaint", {
    image: base64(await drawPicture("png")),
    mask: base64(await sharp({ create: black }).png().toBuffer()),
  });
  expect([response.status, await response.json()]).toEqual([
    422,
    expect.objectContaining({ error: "mask_empty" }),
  ]);
  await expectNothingLeft();
});

describe("Lama Cleaner", () => {
  /** The fields of its page, in its own spelling. */
  const settings = {
    ldmSteps: "25",
    hdStrategyCropTrigerSize: "640",
    prompt: "",
    useCroper: "false",
    sdSeed: "5",
  };

  async function send(to: string, fields: Readonly<Record<string, string | Buffer>>) {
    const body = new FormData();
    for (const [name, value] of Object.entries(fields))
      if (typeof value === "string") body.append(name, value);
      else body.append(name, new Blob([new Uint8Array(value)]), name);
    return scene.send(to, { method: "POST", body });
  }

  test.each(["/iopaint/inpaint", "/inpaint"])("D2 recorded: its form at %s", async (to) => {
    const image = await drawPicture("jpeg");
    const response = await send(to, { image, mask: await drawMask(), ...settings });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "image/jpeg"]);
    expect(response.headers.get("x-seed")).toBe("5");
    const { inside } = await differences(image, Buffer.from(await response.arrayBuffer()));
    expect(inside).toBeGreaterThan(30);
    await expectNothingLeft();
  });

  test("D2 its plugins, with the scale under its own name", async () => {
    const image = await drawPicture("png");
    const response = await send("/run_plugin", { name: "RealESRGAN", upscale: "4", image });
    const answer = await sharp(Buffer.from(await response.arrayBuffer())).metadata();
    expect([response.status, answer.width]).toEqual([200, 240]);
    await expectNothingLeft();
  });

  test("D2 its errors are texts", async () => {
    const image = await drawPicture("png");
    const mask = await drawMask({ ...sizePx, height: 41 as 40 });
    const answers = [
      await send("/inpaint", { image, mask, ...settings }),
      await send("/inpaint", { image, ...settings }),
      await send("/inpaint", { image, mask: image, useCroper: "true" }),
      await send("/run_plugin", { image, name: "Nothing" }),
      await send("/model", { name: "sd2" }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 422, 422]);
    for (const { headers } of answers) expect(headers.get("content-type")).toMatch(/^text\/plain/);
    await expectNothingLeft();
  });

  test("D2 what both APIs say about the server", async () => {
    const read = async (to: string) => (await scene.send(to)).json();
    const plugins = ["RemoveBG", "RealESRGAN", "GFPGAN"];
    expect(await read("/server_config")).toMatchObject({ isControlNet: false, plugins });
    expect(await read("/iopaint/api/v1/server-config")).toMatchObject({
      plugins: [
        ...plugins.map((name) => ({ name, support_gen_image: true })),
        { name: "InteractiveSeg", support_gen_image: false, support_gen_mask: true },
      ],
      modelInfos: [{ name: "lama", need_prompt: false }],
      samplers: expect.any(Array),
    });
    expect(await read("/iopaint/api/v1/model")).toMatchObject({ name: "lama", model_type: "inpaint" });
    expect(await read("/iopaint/api/v1/samplers")).toEqual(["UniPC"]);
    const posted = await scene.send("/iopaint/api/v1/samplers", { method: "POST" });
    expect(await posted.json()).toEqual(["UniPC"]);
    expect(await (await scene.send("/model")).text()).toBe("lama");
    expect(await (await send("/model", { name: "lama" })).text()).toContain("lama");
    for (const to of ["model", "switch_model"])
      expect(await (await post(`/iopaint/api/v1/${to}`, { name: "lama" })).json()).toMatchObject({
        name: "lama",
      });
    expect((await scene.send("/iopaint/api/v1/inputimage")).status).toBe(404);
    expect(await (await scene.send("/is_desktop")).text()).toBe("False");
    expect(await (await scene.send("/model_downloaded/lama")).text()).toBe("True");
    expect(await (await scene.send("/iopaint/model_downloaded/nothing")).text()).toBe("False");
  });

  test("D2 a form of fields alone is taken with the length that clients announce", async () => {
    const form = new FormData();
    form.set("name", "lama");
    const request = new Request("http://localhost", { method: "POST", body: form });
    const body = Buffer.from(await request.arrayBuffer());
    const type = request.headers.get("content-type") ?? "";
    const headers = { "content-type": type, "content-length": String(body.length) };
    const answer = await scene.send("/model", { method: "POST", headers, body: new Uint8Array(body) });
    expect([answer.status, await answer.text()]).toEqual([200, "ok, switch to lama"]);
  });

  test.each([
    ["nothing", null, { prompt: "", negative_prompt: "" }],
    [
      "its prompts",
      "a red chair\nNegative prompt: blurry, dark\nSteps: 20, Sampler: Euler",
      { prompt: "a red chair", negative_prompt: "blurry, dark" },
    ],
    ["a prompt alone", "a red chair", { prompt: "a red chair", negative_prompt: "" }],
  ])("D2 gen-info of a picture that says %s", async (_name, text, info) => {
    const picture = await drawPicture("png");
    const chunk = text === null ? null : pngChunk("tEXt", Buffer.from(`parameters\0${text}`));
    const file = chunk ? withPngChunk(picture, chunk) : picture;
    const form = new FormData();
    form.set("file", new Blob([new Uint8Array(file)]), "picture.png");
    const answer = await scene.send("/iopaint/api/v1/gen-info", { method: "POST", body: form });
    expect([answer.status, await answer.json()]).toEqual([200, info]);
  });

  test("S6 gen-info inflates no text that fills the memory, and opens no SVG", async () => {
    const ask = async (file: Buffer) => {
      const form = new FormData();
      form.set("file", new Blob([new Uint8Array(file)]), "picture.png");
      const answer = await scene.send("/iopaint/api/v1/gen-info", { method: "POST", body: form });
      expect([answer.status, await answer.json()]).toEqual([200, { prompt: "", negative_prompt: "" }]);
    };
    const bombs = withTextBombs(await drawPicture("png"));
    expect(await grownBy(() => ask(bombs))).toBeLessThan(150);
    await ask(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>'));
  });
});

test("D2 the file manager shows the gallery of the key's owner, and saving puts a picture there", async () => {
  const form = new FormData();
  form.set("file", new Blob([new Uint8Array(await drawPicture("webp"))]), "my/cup_cleanup.webp");
  const saved = await scene.send("/iopaint/api/v1/save_image", { method: "POST", body: form });
  expect([saved.status, await saved.json()]).toEqual([200, null]);
  const list = async (tab: string, key?: string) =>
    (await scene.send(`/iopaint/api/v1/medias?tab=${tab}`, { ...(key && { key }) })).json();
  const [file] = await list("input");
  expect(file).toEqual({
    name: expect.stringMatching(/cup_cleanup [\da-f-]{36}\.webp$/),
    ...sizePx,
    ctime: expect.any(Number),
    mtime: file.ctime,
  });
  const open = (route: string, name: string, key?: string) =>
    scene.send(`/iopaint/api/v1/${route}?tab=input&filename=${encodeURIComponent(name)}`, {
      ...(key && { key }),
    });
  const whole = await open("media_file", file.name);
  expect(whole.headers.get("content-type")).toBe("image/webp");
  expect(await sharp(await whole.arrayBuffer()).metadata()).toMatchObject(sizePx);
  const small = await open("media_thumbnail_file", `${file.name}`);
  expect(await sharp(await small.arrayBuffer()).metadata()).toMatchObject({ format: "webp" });
  expect([await list("output"), await list("mask")]).toEqual([[], []]);
  expect((await scene.send("/iopaint/api/v1/medias?tab=other")).status).toBe(400);
  expect((await open("media_file", "cup.webp")).status).toBe(404);
  // To others it is not there.
  expect(await list("input", scene.stranger.key)).toEqual([]);
  expect((await open("media_file", file.name, scene.stranger.key)).status).toBe(404);
  const kept = await scene.services.db
    .select({ id: images.id })
    .from(images)
    .where(eq(images.ownerId, scene.owner.id));
  await purgeImages(
    scene.services,
    kept.map(({ id }) => id),
  );
});

test("A8 the result of an ephemeral job that the file manager opens is answered, and its thumbnail alone is not", async () => {
  const { services, owner } = scene;
  const { db } = services;
  const form = new FormData();
  form.set("file", new Blob([new Uint8Array(await drawPicture("webp"))]), "cup.webp");
  await scene.send("/iopaint/api/v1/save_image", { method: "POST", body: form });
  const [picture] = await db.select().from(images).where(eq(images.ownerId, owner.id));
  const imageId = picture?.id ?? "";
  const id = await insertJob(services, { owner: { userId: owner.id, isGuest: false, imageId } });
  await db
    .update(jobs)
    .set({ status: "completed", retention: "ephemeral", endedAt: new Date() })
    .where(eq(jobs.id, id));
  await db.insert(schema.jobOutputs).values({ jobId: id, position: 0, imageId });
  const open = async (route: string) =>
    (await scene.send(`/iopaint/api/v1/${route}?tab=input&filename=${imageId}.webp`)).arrayBuffer();
  const answeredAt = async () => (await db.select().from(jobs).where(eq(jobs.id, id)))[0]?.answeredAt ?? null;
  await open("media_thumbnail_file");
  expect(await answeredAt()).toBeNull();
  await open("media_file");
  await expect.poll(answeredAt, { timeout: 20_000 }).not.toBeNull();
  await db.delete(jobs).where(eq(jobs.id, id));
  await purgeImages(services, [imageId]);
});

test("D2 a user's fifth picture at once is refused, and the four come", async () => {
  const image = base64(await drawPicture("png"));
  const send = () => post("/iopaint/api/v1/run_plugin_gen_image", { name: "GFPGAN", image });
  const { promise: until, resolve: goOn } = Promise.withResolvers<void>();
  server.inject({ kind: "slow", until });
  onTestFinished(() => goOn());
  const sent = Array.from({ length: 5 }, send);
  expect((await Promise.race(sent)).status).toBe(429);
  goOn();
  const statuses = (await Promise.all(sent)).map(({ status }) => status);
  expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 200, 200, 200, 429]);
  expect((await send()).status).toBe(200);
  await expectNothingLeft();
});

test("D2 a key as the password of the address, as scripts send it", async () => {
  const authorization = `Basic ${base64(Buffer.from(`key:${scene.owner.key}`))}`;
  const response = await scene.send("/iopaint/api/v1/model", { key: null, headers: { authorization } });
  expect(await response.json()).toMatchObject({ name: "lama" });
});

// Last: the server stays busy with the run that was left.
test("D2 D6 a client that leaves in the middle of a run cancels it, and nothing is left", async () => {
  server.inject({ kind: "hang" });
  const leave = new AbortController();
  const image = base64(await drawPicture("png"));
  const answer = post("/iopaint/api/v1/run_plugin_gen_image", { name: "GFPGAN", image }, leave.signal);
  const { db } = scene.services;
  const isRunning = async () => (await db.$count(jobs, eq(jobs.status, "processing"))) === 1;
  await vi.waitUntil(isRunning, { timeout: 20_000, interval: 20 });
  leave.abort();
  expect((await answer).status).toBe(400);
  await expectNothingLeft();
}, 60_000);
