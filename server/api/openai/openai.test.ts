import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createOpenAI } from "@ai-sdk/openai";
import { inAll } from "@atelier/testing/cases";
import { addNode } from "@atelier/testing/jobs";
import { generateImage } from "ai";
import { desc, eq, ne } from "drizzle-orm";
import OpenAI, { toFile } from "openai";
import sharp from "sharp";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createApiKey, revokeApiKey, setKeyCap } from "../../accounts/index.ts";
import { schema } from "../../db/index.ts";
import { listImages, listImagesSchema, withFilePermit } from "../../images/index.ts";
import { cancel } from "../../jobs/index.ts";
import { streamLimits } from "../../live/index.ts";
import { newId, places, takePlace } from "../../platform/index.ts";
import { handleClients } from "../clients/app.ts";
import { createHttpApp } from "../http/app.ts";
import { actFor } from "../clients/route.ts";
import { type ClientScene, openClientScene } from "../clients/fixtures/scene.ts";
import { type ClientStudio, drawPhoto, openClientStudio } from "../clients/fixtures/studio.ts";
import { referenceRoles, withEdit } from "./request.ts";

const { jobs } = schema;
let studio: ClientStudio;
let client: OpenAI;

beforeAll(async () => {
  studio = await openClientStudio();
  client = new OpenAI({ baseURL: `${studio.url}/v1`, apiKey: studio.owner.key });
}, 180_000);
afterAll(() => studio.close());
beforeEach(() => studio.comfy.clearFaults());

/** What the studio adds to an answer. */
interface Own {
  readonly atelier: { readonly jobs: string[]; readonly models: string[]; readonly notes: string[] };
}
// Safe cast: the types of the package do not know our member.
const ownOf = (answer: unknown) => (answer as Own).atelier;

const picture = (base64: string | undefined) => sharp(Buffer.from(base64 ?? "", "base64")).metadata();

const rowOf = async (id: string) => {
  const [row] = await studio.services.db.select().from(jobs).where(eq(jobs.id, id));
  return row;
};

describe("the official package", () => {
  test("lists the models that can run now, and tells of one by its name", async () => {
    const models = (await client.models.list()).data;
    expect(models.map(({ id }) => id)).toEqual(
      expect.arrayContaining(["atelier", "atelier/t2i_sdxl", "atelier/inpaint_any_differential"]),
    );
    expect(await client.models.retrieve("atelier/t2i_sdxl")).toMatchObject({
      object: "model",
      owned_by: "atelier",
    });
    await expect(client.models.retrieve("nothing")).rejects.toMatchObject({
      status: 404,
      code: "model_not_found",
    });
  });

  test("makes pictures, which are in the gallery of the key's owner", async () => {
    const answer = await client.images.generate({
      model: "atelier/t2i_sdxl",
      prompt: "a house",
      n: 2,
      size: "1024x1024",
    });
    expect(answer.data).toHaveLength(2);
    expect(await picture(answer.data?.[0]?.b64_json)).toMatchObject({
      format: "png",
      width: 1024,
      height: 1024,
    });
    expect(answer).toMatchObject({ output_format: "png", size: "1024x1024", background: "opaque" });
    const { jobs: ids, models, notes } = ownOf(answer);
    expect([ids.length, models, notes]).toEqual([2, ["atelier/t2i_sdxl"], []]);
    const ownerId = studio.owner.id;
    const { items } = await listImages(studio.services, { ...listImagesSchema.parse({}), ownerId });
    expect(items.map(({ jobId }) => jobId)).toEqual(expect.arrayContaining(ids));
  });

  test("gets the picture in the format and with the settings that it asked for", inAll, async () => {
    const own = { seed: 41, steps: 4, negative_prompt: "people" };
    const answer = await client.images.generate({
      model: "atelier/t2i_sdxl",
      prompt: "a house",
      output_format: "webp",
      output_compression: 60,
      ...own,
    });
    expect(await picture(answer.data?.[0]?.b64_json)).toMatchObject({ format: "webp" });
    const row = await rowOf(ownOf(answer).jobs[0] ?? "");
    expect(row?.params).toMatchObject({ prompt: "a house", seed: 41, steps: 4, negativePrompt: "people" });
    const strange = { negative_prompt: "people", sparkle: 3 };
    const other = await client.images.generate({ prompt: "a house", ...strange });
    expect(ownOf(other).notes.join(" ")).toMatch(/left out: sparkle\..*negativePrompt "people" is not taken/);
  });

  test("gets an address that needs no key and ends, as DALL·E gave it", async () => {
    const asked = { model: "dall-e-3", prompt: "a house", style: "vivid", quality: "hd" } as const;
    const version = { query: { "api-version": "2025-04-01-preview" } };
    const answer = await client.images.generate(asked, version);
    expect(ownOf(answer).notes.join(" ")).toMatch(/"dall-e-3" is no model of this studio.*quality hd.*style/);
    const url = new URL(answer.data?.[0]?.url ?? "");
    // Programs name their copy by the end of the address.
    expect(url.pathname).toMatch(/\.png$/);
    const logged = vi.spyOn(studio.services.log, "info");
    const fetched = await fetch(`${studio.url}${url.pathname}`);
    expect(JSON.stringify(logged.mock.calls)).toMatch(/"path":"\/v1\/images\/files\/[\da-f-]{36}…"/);
    logged.mockRestore();
    expect([fetched.status, fetched.headers.get("content-type")]).toEqual([200, "image/png"]);
    expect(await sharp(Buffer.from(await fetched.arrayBuffer())).metadata()).toMatchObject({ format: "png" });
    // Open WebUI fetches it with the header of its other requests.
    const withKey = { headers: { authorization: `Bearer ${studio.owner.key}` } };
    expect((await fetch(`${studio.url}${url.pathname}`, withKey)).status).toBe(200);
    const [id = "", endsAtS = "", ...rest] = url.pathname.split("/").at(-1)?.split(".") ?? [];
    const forged = [id, String(Number(endsAtS) + 1), ...rest].join(".");
    expect((await fetch(`${studio.url}/v1/images/files/${forged}`)).status).toBe(404);
    vi.useFakeTimers({ now: Date.now() + 3_700_000, toFake: ["Date"] });
    const late = await studio.app.fetch(new Request(`${studio.url}${url.pathname}`));
    vi.useRealTimers();
    expect(late.status).toBe(404);
  });

  test("is sent previews of the run and then the picture", async ({ onTestFinished }) => {
    // The run may be over before a process that listens for the first time is sent anything.
    const { hints } = studio.services;
    onTestFinished(hints.subscribe(() => undefined));
    await new Promise<void>((heard) => {
      onTestFinished(hints.subscribeLive(() => undefined, heard));
    });
    const stream = await client.images.generate({
      model: "atelier/t2i_sdxl",
      prompt: "a house",
      stream: true,
      partial_images: 2,
    });
    const types: string[] = [];
    const formats: unknown[] = [];
    for await (const event of stream) {
      types.push(event.type);
      formats.push((await picture(event.b64_json)).format);
    }
    expect(types.at(-1)).toBe("image_generation.completed");
    expect(types.slice(0, -1)).toEqual(
      Array.from({ length: types.length - 1 }, () => "image_generation.partial_image"),
    );
    expect([types.length > 1, formats.at(0), formats.at(-1)]).toEqual([true, "jpeg", "png"]);
  });

  test("changes a picture by words, and with a mask only what is transparent in it", async () => {
    const image = await toFile(await drawPhoto(512, 512), "photo.png", { type: "image/png" });
    const mask = await toFile(await drawPhoto(512, 512, true), "mask.png", { type: "image/png" });
    const answer = await client.images.edit({ image, mask, prompt: "a red door" });
    const row = await rowOf(ownOf(answer).jobs[0] ?? "");
    expect(row).toMatchObject({ kind: "inpaint", status: "completed" });
    const [one] = await studio.services.db
      .select({ id: schema.images.id, role: schema.images.role })
      .from(schema.jobInputs)
      .innerJoin(schema.images, eq(schema.images.id, schema.jobInputs.imageId))
      .where(eq(schema.jobInputs.jobId, row?.id ?? ""))
      .orderBy(schema.images.role);
    expect(one?.role).toBe("mask");
    const plain = await client.images.edit({ image: [image], prompt: "in snow", model: "gpt-image-1" });
    expect(await rowOf(ownOf(plain).jobs[0] ?? "")).toMatchObject({ kind: "edit", status: "completed" });
  });

  test("is sent a changed picture by the events of an edit", async () => {
    const image = await toFile(await drawPhoto(512, 512), "photo.png", { type: "image/png" });
    const asked = { image, prompt: "in snow", stream: true, partial_images: 2 } as const;
    const types: string[] = [];
    let last: unknown = null;
    for await (const event of await client.images.edit(asked)) {
      types.push(event.type);
      last = (await picture(event.b64_json)).format;
    }
    expect([types.at(-1), last]).toEqual(["image_edit.completed", "png"]);
    expect(types.slice(0, -1).filter((type) => type !== "image_edit.partial_image")).toEqual([]);
  });

  test("names a model that takes fewer settings than the program sends", async () => {
    const answer = await client.images.edit({
      model: "gpt-image/atelier/edit_qwen_2511",
      image: await toFile(await drawPhoto(512, 512), "photo.png", { type: "image/png" }),
      prompt: "a red door",
      size: "1024x1024",
    });
    const { models, notes } = ownOf(answer);
    expect([answer.data?.length, models]).toEqual([1, ["atelier/edit_qwen_2511"]]);
    for (const name of ["width 1024", "height 1024"])
      expect(notes.join(" ")).toContain(`${name} is not taken by the model`);
  });

  test("is told in the API's own words what cannot be done", async () => {
    const image = await toFile(await drawPhoto(), "photo.png", { type: "image/png" });
    await expect(client.images.createVariation({ image })).rejects.toMatchObject({
      status: 400,
      type: "invalid_request_error",
      param: "model",
    });
    const generate = (body: object) => client.images.generate({ prompt: "a house", ...body });
    await expect(generate({ background: "transparent" })).rejects.toMatchObject({
      status: 400,
      param: "background",
    });
    await expect(generate({ size: "huge" })).rejects.toMatchObject({ status: 400, param: "size" });
    await expect(generate({ n: 11 })).rejects.toMatchObject({ status: 400, param: "n" });
    await expect(generate({ prompt: "" })).rejects.toMatchObject({ status: 400, param: "prompt" });
    await expect(generate({ model: "midjourney" })).rejects.toMatchObject({ status: 404, param: "model" });
    const wrongKey = new OpenAI({ baseURL: `${studio.url}/v1`, apiKey: "wrong" });
    await expect(wrongKey.models.list()).rejects.toMatchObject({
      status: 401,
      code: "invalid_api_key",
      message: expect.stringMatching(/This API key does not work: it is mistyped/),
    });
    const opaque = await toFile(
      await sharp(await drawPhoto())
        .removeAlpha()
        .png()
        .toBuffer(),
      "mask.png",
    );
    await expect(client.images.edit({ image, mask: opaque, prompt: "x" })).rejects.toMatchObject({
      status: 400,
      param: "mask",
    });
  });

  test("is told what is here by every other address and method", async () => {
    const messages = [{ role: "user" as const, content: "a house" }];
    const calls = [
      () => client.chat.completions.create({ model: "gpt-4o", messages }),
      () => client.responses.create({ model: "gpt-4o", input: "a house" }),
      () => client.moderations.create({ input: "a house" }),
      () => client.models.delete("nothing"),
      () => client.get("/images"),
    ];
    for (const call of calls)
      await expect(call()).rejects.toMatchObject({
        status: expect.toBeOneOf([404, 405]),
        code: expect.toBeOneOf(["not_found", "method_not_allowed"]),
        type: "invalid_request_error",
        message: expect.stringContaining("/v1/images/generations"),
      });
    const refused = await fetch(`${studio.url}/v1/images/edits`);
    expect([refused.status, refused.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
    expect(await refused.json()).toMatchObject({ error: { code: "method_not_allowed", param: null } });
  });

  test("names a model with the prefix of a router before it", async () => {
    const make = (model: string) => client.images.generate({ model, prompt: "a house", size: "512x512" });
    for (const model of ["openai/atelier/t2i_sdxl", "gpt-image/atelier/t2i_sdxl@0.05"])
      expect([model, ownOf(await make(model))]).toMatchObject([
        model,
        { models: ["atelier/t2i_sdxl"], notes: [] },
      ]);
    for (const model of ["openai/atelier/nothing", "xatelier/t2i_sdxl", "atelier/atelier/t2i_sdxl/x"])
      await expect(make(model)).rejects.toMatchObject({ status: 404, code: "model_not_found" });
  });

  test("is told when the run failed, and does not send it again by itself", inAll, async () => {
    const before = await studio.services.db.$count(jobs);
    studio.comfy.inject({ kind: "node-error", times: "forever" });
    await expect(
      client.images.generate({ prompt: "a house", model: "atelier/t2i_sdxl" }),
    ).rejects.toMatchObject({
      type: "server_error",
    });
    expect((await studio.services.db.$count(jobs)) - before).toBe(1);
  });
});

describe("programs that write the fields in their own way", () => {
  /** Whether a request is read as far as the name of its model, which is none. */
  const read = async (body: FormData | Blob | object, headers: Record<string, string> = {}) => {
    const isForm = body instanceof FormData || body instanceof Blob;
    const response = await fetch(`${studio.url}/v1/images/edits`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${studio.owner.key}`,
        ...(isForm ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: isForm ? body : JSON.stringify(body),
    });
    return [response.status, await response.text()] as const;
  };
  const fields = { model: "nothing", prompt: "in snow" };
  const isRead = [404, expect.stringContaining("model_not_found")];

  test.each([
    ["image", "image"],
    ["image[]", "image[]"],
    ["image[0]", "image[1]"],
    ["images", "images"],
    ["images[]", "images[]"],
  ])("pictures as %s and %s, sizes and switches as libraries write them", async (...names) => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ ...fields, stream: "False", size: "1024*1024" }))
      form.set(name, value);
    const photo = new Blob([new Uint8Array(await drawPhoto())], { type: "image/png" });
    for (const name of names) form.append(name, photo, "a.png");
    expect(await read(form)).toEqual(isRead);
  });

  /** The pictures of the job that a request orders, by their parts. */
  const ordered = async (body: FormData | Blob | object): Promise<unknown> => {
    const [status, text] = await read(body, { prefer: "respond-async, wait=0" });
    if (status !== 202) return text;
    const id = ownOf(JSON.parse(text)).jobs[0] ?? "";
    await cancel(studio.services, { ownerId: studio.owner.id, id });
    const { jobInputs, images } = schema;
    return studio.services.db
      .select({ role: jobInputs.role, sha256: images.uploadSha256 })
      .from(jobInputs)
      .innerJoin(images, eq(images.id, jobInputs.imageId))
      .where(eq(jobInputs.jobId, id));
  };
  const orderOf = (photo: Buffer) => [
    { role: "image", sha256: createHash("sha256").update(photo).digest("hex") },
  ];
  const formOf = (parts: readonly (readonly [head: string, body: Buffer | string])[]) => {
    const mark = "----a-boundary";
    const pieces = parts.flatMap(([head, body]) => [
      `--${mark}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`,
      body,
      "\r\n",
    ]);
    const bytes = Buffer.concat([...pieces, `--${mark}--\r\n`].map((piece) => Buffer.from(piece)));
    return new Blob([new Uint8Array(bytes)], { type: `Multipart/Form-Data; boundary="${mark}"` });
  };
  const base64Of = (photo: Buffer) => photo.toString("base64");

  test.each([
    ["a file without a name", 'name="image"', (photo: Buffer) => photo],
    ["a typed file without a name", 'name="image[]"\r\nContent-Type: image/png', (photo: Buffer) => photo],
    ["base64", "name=image", base64Of],
    ["a data address", 'name="image"', (photo: Buffer) => `data:image/png;base64,${base64Of(photo)}`],
  ])("a form with the picture as %s, and no file chosen as its mask", async (_name, head, bodyOf) => {
    const photo = await drawPhoto();
    const none = 'name="mask"; filename=""\r\nContent-Type: application/octet-stream';
    const form = formOf([
      ['name="prompt"', "in snow"],
      [head, bodyOf(photo)],
      [none, ""],
    ]);
    expect(await ordered(form)).toEqual(orderOf(photo));
  });

  /** The files of the pictures of a form, null for what is none. */
  const filesOf = (parts: Parameters<typeof formOf>[0]) => {
    const request = new Request(studio.url, {
      method: "POST",
      body: formOf([['name="prompt"', "in snow"], ...parts]),
    });
    const { services, owner } = studio;
    const caller = { userId: owner.id, isGuest: false, isAdmin: false, via: "api_key" } as const;
    const input = { services, caller, request, startedAtMs: 0, params: {}, query: {} };
    return withEdit(input, ({ pictures }) =>
      Promise.all(
        pictures.map(async (given) =>
          "bytes" in given && typeof given.bytes === "string" ? readFile(given.bytes) : null,
        ),
      ),
    );
  };

  test("each picture in text of a form is a file before the next is read", async () => {
    const photos = [await drawPhoto(), await drawPhoto(64, 64), await drawPhoto(32, 32, true)];
    const [first = "", second = "", mask = ""] = photos.map(base64Of);
    const files = await filesOf([
      ['name="image[0]"', first],
      ['name="image[1]"', `data:image/png;base64,${second}`],
      ['name="mask"', mask],
    ]);
    expect(files).toEqual(photos.slice(0, 2));
  });

  test("a picture in text of a form waits for its turn in memory, a file does not", async () => {
    const photo = await drawPhoto();
    const { promise, resolve } = Promise.withResolvers<void>();
    const held = [1, 2].map(() => withFilePermit({ ownerId: "other", weight: "light" }, () => promise));
    const order: string[] = [];
    const text = filesOf([["name=image", base64Of(photo)]]).then(() => order.push("text"));
    for (let sent = 0; sent < 3; sent += 1) await filesOf([["name=image", photo]]);
    order.push("files");
    resolve();
    await Promise.all([text, ...held]);
    expect(order).toEqual(["files", "text"]);
  });

  test("more pictures than an edit takes are refused before they are read", async () => {
    const base64 = base64Of(await drawPhoto());
    const most = referenceRoles.length + 1;
    for (const [count, answer] of [
      [most, isRead],
      [most + 1, [400, expect.stringContaining(`At most ${most} pictures`)]],
    ] as const) {
      const images = Array.from({ length: count }, () => base64);
      expect(await read({ ...fields, image: images })).toEqual(answer);
      expect(await read({ ...fields, image: base64, images: images.slice(1) })).toEqual(answer);
      const parts = images.map((text, at) => [`name="image[${at}]"`, text] as const);
      const named = Object.entries(fields).map(([name, value]) => [`name="${name}"`, value] as const);
      expect(await read(formOf([...named, ...parts]))).toEqual(answer);
    }
  });

  test.each([
    ["upper case", (base64: string) => `DATA:image/png;BASE64,${base64}`],
    [
      "spaces and lines",
      (base64: string) => ` data:image/png;base64,\n${base64.replaceAll(/.{76}/g, "$&\r\n")}`,
    ],
    ["escapes", (base64: string) => `data:image/png;base64,${encodeURIComponent(base64)}`],
    ["a name with a comma", (base64: string) => `data:image/png;name=a,b.png;base64,${base64}`],
    ["base64url", (base64: string) => base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")],
  ])("JSON with the picture in %s", async (_name, spell) => {
    const photo = await drawPhoto();
    const image = spell(base64Of(photo));
    expect(await ordered({ prompt: "in snow", image })).toEqual(orderOf(photo));
  });

  test("names in any case, and -1 for any seed", async () => {
    const spelled = { output_format: "JPG", quality: "Auto", response_format: "B64_JSON", seed: -1 };
    const photo = await drawPhoto();
    expect(await ordered({ prompt: "in snow", image: base64Of(photo), ...spelled })).toEqual(orderOf(photo));
  });

  test("other parts are refused by name", async () => {
    const form = new FormData();
    form.append("picture[0]", new Blob([new Uint8Array(await drawPhoto())]), "a.png");
    expect(await read(form)).toEqual([400, expect.stringContaining("`image`, `mask`")]);
  });

  test.each([
    ["an address in an object", { images: [{ image_url: { url: "https://p.test/a.png" } }] }],
    ["an address", { images: [{ type: "image_url", image_url: "https://p.test/a.png" }], size: "512 X 512" }],
  ])("pictures in JSON as %s", async (_name, body) => {
    expect(await read({ ...fields, ...body })).toEqual(isRead);
  });
});

test("the AI SDK makes and edits pictures, and is told why not", async () => {
  const model = (name: string) =>
    createOpenAI({ baseURL: `${studio.url}/v1`, apiKey: studio.owner.key }).image(name);
  const made = await generateImage({
    model: model("gpt-image-1"),
    prompt: "a house",
    n: 2,
    size: "512x512",
    providerOptions: { openai: { quality: "high", outputFormat: "jpeg" } },
  });
  expect(made.images.map(({ mediaType }) => mediaType)).toEqual(["image/jpeg", "image/jpeg"]);
  const photo = await drawPhoto();
  const prompt = { text: "in snow", images: [photo] };
  const { image } = await generateImage({ model: model("atelier"), prompt });
  expect(await sharp(image.uint8Array).metadata()).toMatchObject({ format: "png" });
  await expect(generateImage({ model: model("nothing"), prompt: "a house" })).rejects.toMatchObject({
    statusCode: 404,
    message: expect.stringContaining("nothing"),
  });
}, 60_000);

describe("a program that hangs up", () => {
  const ask = (headers: Record<string, string>, signal: AbortSignal) =>
    fetch(`${studio.url}/v1/images/generations`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${studio.owner.key}`,
        "content-type": "application/json",
        ...headers,
      },
      body: JSON.stringify({ model: "atelier/t2i_sdxl", prompt: "a slow house" }),
      signal,
    });
  const newest = async () => {
    const rows = await studio.services.db.select().from(jobs).orderBy(jobs.id);
    return rows.at(-1);
  };
  const waiting = { timeout: 20_000, interval: 20 };

  test("cancels its pictures, unless it prefers to be answered later or may repeat its key", async () => {
    const ends: unknown[] = [];
    for (const [headers, status, kind] of [
      [{}, "cancelled", "hang"],
      [{ prefer: "respond-async" }, "completed", "hold"],
      [{ "idempotency-key": "hangs up" }, "completed", "hold"],
    ] as const) {
      studio.comfy.inject({ kind });
      const runs = studio.startedRuns();
      const last = (await newest())?.id;
      const leaving = new AbortController();
      const asked = ask(headers, leaving.signal).catch(() => null);
      await vi.waitUntil(
        async () => (await newest())?.id !== last && (await newest())?.status === "processing",
        waiting,
      );
      await vi.waitUntil(() => studio.startedRuns() > runs, waiting);
      leaving.abort();
      await asked;
      studio.comfy.release();
      await vi.waitUntil(async () => (await newest())?.status === status, waiting);
      ends.push(status);
    }
    expect(ends).toEqual(["cancelled", "completed", "completed"]);
  });

  test.each(["x-stainless-timeout", "x-stainless-read-timeout"])(
    "of OpenAI's packages is answered before it would hang up and ask again (%s)",
    async (name) => {
      studio.comfy.inject({ kind: "hang" });
      const before = await studio.services.db.$count(jobs);
      const answer = await ask({ [name]: "3.0" }, AbortSignal.timeout(60_000));
      expect([answer.status, answer.headers.get("x-should-retry")]).toEqual([504, "false"]);
      studio.comfy.release();
      expect((await studio.services.db.$count(jobs)) - before).toBe(1);
      await vi.waitUntil(async () => (await newest())?.status === "cancelled", waiting);
    },
  );

  test("is answered 202 with the job when its time is over, and a repeated key makes nothing again", async () => {
    const count = () => studio.services.db.$count(jobs);
    const headers = { prefer: "respond-async, wait=0", "idempotency-key": "once" };
    const answers = [
      await ask(headers, AbortSignal.timeout(60_000)),
      await ask(headers, AbortSignal.timeout(60_000)),
    ];
    const made = await count();
    expect(answers.map(({ status }) => status)).toEqual([202, 202]);
    const locations = answers.map((answer) => answer.headers.get("location"));
    expect(locations[0]).toMatch(/^\/api\/v1\/jobs\/[\da-f-]{36}$/);
    expect(locations[1]).toBe(locations[0]);
    await ask({ "idempotency-key": "once" }, AbortSignal.timeout(20_000));
    expect(await count()).toBe(made);
  });
});

test("a request above the limit of those that wait orders nothing", async () => {
  const held = Array.from({ length: places.stream.perUser }, () =>
    takePlace(studio.services, "stream", { userId: studio.owner.id }),
  );
  const before = await studio.services.db.$count(jobs);
  const once = client.withOptions({ maxRetries: 0 });
  for (const stream of [false, true])
    await expect(once.images.generate({ prompt: "a house", stream })).rejects.toMatchObject({ status: 429 });
  expect(await studio.services.db.$count(jobs)).toBe(before);
  for (const giveBack of held) giveBack();
});

describe("a stream", () => {
  const request = (signal: AbortSignal | null, headers: Record<string, string> = {}) =>
    new Request(`${studio.url}/v1/images/generations`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${studio.owner.key}`,
        "content-type": "application/json",
        ...headers,
      },
      body: JSON.stringify({ prompt: "a house", stream: true }),
      signal,
    });

  test("says that its time is over, and which jobs go on", async () => {
    const answer = await fetch(request(null, { prefer: "respond-async, wait=0" }));
    const [, data = "null"] = /event: error\ndata: (.*)/.exec(await answer.text()) ?? [];
    expect(JSON.parse(data)).toMatchObject({
      type: "error",
      error: { code: "engine_timeout" },
      atelier: { jobs: [expect.stringMatching(/^[\da-f-]{36}$/)] },
    });
  });

  test.each(["Bearer", "Basic"])("S1 asked for with %s goes on while the key is one", async (scheme) => {
    const { recheckMs } = streamLimits;
    streamLimits.recheckMs = 0;
    try {
      const { key } = studio.owner;
      const sent = scheme === "Basic" ? Buffer.from(`me:${key}`).toString("base64") : key;
      const answer = await fetch(request(null, { authorization: `${scheme} ${sent}` }));
      expect(await answer.text()).toContain("event: image_generation.completed");
    } finally {
      streamLimits.recheckMs = recheckMs;
    }
  });

  test("whose reader leaves before the first read cancels its pictures", async () => {
    const leaving = new AbortController();
    const answer = await handleClients(studio.services, request(leaving.signal));
    expect(answer.status).toBe(200);
    const [row] = await studio.services.db.select().from(jobs).orderBy(desc(jobs.id)).limit(1);
    leaving.abort();
    await vi.waitUntil(async () => (await rowOf(row?.id ?? ""))?.status === "cancelled", { timeout: 20_000 });
  });
});

describe("what costs money", () => {
  const painter = {
    id: "painter",
    title: "The painter",
    kind: "text_to_image",
    inputs: { required: [], optional: [] },
    params: ["prompt"],
    offers: [{ provider: "fal", endpoint: "e", input: { prompt: "$prompt" }, priceUsd: 0.04 }],
  };
  let scene: ClientScene;
  beforeAll(async () => {
    scene = await openClientScene({}, { config: { cloud: { models: [painter] } } });
    await addNode(scene.services, {
      queue: "cloud",
      slots: 99,
      needs: ["cloud/painter"],
      providers: ["fal"],
    });
  });
  afterAll(() => scene.close());

  const ask = async (body: object, headers: Record<string, string> = {}) => {
    const answer = await scene.send("/v1/images/generations", {
      method: "POST",
      key: scene.admin.key,
      headers: { "content-type": "application/json", prefer: "respond-async, wait=0", ...headers },
      body: JSON.stringify({ prompt: "a house", model: "atelier/painter", ...body }),
    });
    return { status: answer.status, headers: answer.headers, body: await answer.json() };
  };

  test("is not bought without a price in the request, nor above it", async () => {
    for (const body of [{}, { max_price_usd: 0.039 }, { model: "atelier/painter@0.01" }]) {
      const refused = await ask(body);
      expect(refused).toMatchObject({
        status: 402,
        body: { error: { code: "not_agreed", type: "insufficient_quota" } },
      });
      expect(refused.body.error.message).toMatch(/\$0\.04.*max_price_usd/s);
    }
    expect(await scene.services.db.$count(jobs)).toBe(0);
  });

  test("S9 above the cap of its key is 402 here, in the HTTP API and over A1111's; the key reads what is left", async () => {
    const { services, admin } = scene;
    const cap = { usd: 0.03, period: "week" } as const;
    const { id, key } = await createApiKey(services, { userId: admin.id, name: "capped", cap });
    const whole = { userId: admin.id, isGuest: false, isAdmin: true, via: "api_key", keyId: id } as const;
    expect(await actFor(services, whole, "another")).toMatchObject({ keyId: id, isAdmin: false });
    const headers = { "content-type": "application/json", prefer: "respond-async, wait=0" };
    const app = createHttpApp(services);
    const rest = async (path: string, init: { headers?: object } = {}) =>
      app.request(path, { ...init, headers: { ...init.headers, authorization: `Bearer ${key}` } });
    const post = async (path: string, body: object) => {
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      const answer = path.startsWith("/api/v1/")
        ? await rest(path, init)
        : await scene.send(path, { ...init, key });
      return { status: answer.status, body: await answer.json() };
    };
    const message = expect.stringMatching(
      /^This API key may spend \$0\.030 a week: \$0\.00 .*costs \$0\.040\.$/,
    );
    const openai = { prompt: "a house", model: "atelier/painter", max_price_usd: 1 };
    expect(await post("/v1/images/generations", openai)).toMatchObject({
      status: 402,
      body: { error: { code: "insufficient_quota", type: "insufficient_quota", message } },
    });
    const params = { prompt: "a house" };
    const agreed = { maxPriceUsd: 1, ownOnly: false, unknownPrice: false };
    const job = { kind: "text_to_image", params, model: "painter", agreed };
    expect(await post("/api/v1/jobs", job)).toMatchObject({
      status: 402,
      body: { code: "budget_exceeded", detail: message },
    });
    expect(await post("/api/v1/jobs/estimate", job)).toMatchObject({
      status: 200,
      body: { isPossible: false, reason: message },
    });
    expect(await post("/api/v1/batches", { jobs: [job, job] })).toMatchObject({ status: 402 });
    const web = { ...params, override_settings: { sd_model_checkpoint: "atelier/painter@1" } };
    const a1111 = await post("/sdapi/v1/txt2img", web);
    expect(a1111).toMatchObject({ status: 402, body: { detail: message } });
    const left = await (await rest("/api/v1/keys/me")).json();
    expect(left).toMatchObject({ id, cap, spentUsd: 0, reservedUsd: 0, leftUsd: 0.03 });
    expect(left.resetsAt).toMatch(/T00:00:00Z$/);
    expect(new Date(left.resetsAt).getUTCDay()).toBe(1);
    await setKeyCap(services, { userId: admin.id, id, cap: { usd: 1, period: "week" } });
    expect(await post("/v1/images/generations", openai)).toMatchObject({ status: 202 });
    const rows = await services.db.select({ apiKeyId: jobs.apiKeyId }).from(jobs);
    expect(rows).toEqual([{ apiKeyId: id }]);
    await services.db.delete(jobs);
  });

  test("is bought with one, in the body, a header or behind the name, and bound to it", async () => {
    expect((await ask({ max_price_usd: 0.04 })).status).toBe(202);
    expect((await ask({}, { "x-max-price-usd": "0.05" })).status).toBe(202);
    expect((await ask({ model: "painter@$0.06" })).status).toBe(202);
    const rows = await scene.services.db.select({ agreed: jobs.agreed }).from(jobs).orderBy(jobs.id);
    expect(rows.map(({ agreed }) => agreed?.maxPriceUsd)).toEqual([0.04, 0.05, 0.06]);
  });

  test("is not bought again for a package that repeats its request by itself", async () => {
    const { services, admin } = scene;
    const { db } = services;
    const { providerAttempts } = schema;
    await db.delete(jobs);
    const paid = { max_price_usd: 0.04 };
    const repeated = { "x-stainless-retry-count": "1" };
    expect((await ask(paid)).status).toBe(202);
    const [first] = await db.select().from(jobs);
    const id = first?.id ?? "";
    // Nothing was bought yet: what was refused before is asked for again.
    expect((await ask(paid, repeated)).status).toBe(202);
    await db.delete(jobs).where(ne(jobs.id, id));
    await db.update(jobs).set({ status: "processing" }).where(eq(jobs.id, id));
    const attempt = {
      jobId: id,
      ownerId: admin.id,
      provider: "fal",
      keyId: "k",
      model: "painter",
      endpoint: "e",
      token: "t",
    };
    await db.insert(providerAttempts).values({ id: newId(), state: "accepted", ...attempt });
    expect((await ask(paid, repeated)).status).toBe(202);
    await cancel(services, { ownerId: admin.id, id });
    const refused = await ask(paid, repeated);
    expect(refused).toMatchObject({ status: 409, body: { error: { message: expect.stringContaining(id) } } });
    expect(refused.headers.get("x-should-retry")).toBe("false");
    for (const [body, headers] of [
      [paid, {}],
      [paid, { "x-stainless-retry-count": "0" }],
      [{ ...paid, prompt: "another house" }, repeated],
    ] as const)
      expect((await ask(body, headers)).status).toBe(202);
    // A refused call costs nothing, one without an answer its price.
    for (const [attempt, status] of [
      [{ costUsd: 0 }, 202],
      [{ state: "failed", costUsd: null, errorClass: "rate" }, 202],
      [{ state: "failed", costUsd: null, errorClass: "lost" }, 409],
    ] as const) {
      await db.update(providerAttempts).set(attempt);
      expect([attempt, (await ask(paid, repeated)).status]).toEqual([attempt, status]);
    }
    await db.delete(jobs);
  });

  test("S1 a key that is revoked waits for its picture no longer", async () => {
    const { services, owner } = scene;
    const { recheckMs } = streamLimits;
    streamLimits.recheckMs = 0;
    try {
      const { id, key } = await createApiKey(services, { userId: owner.id, name: "gone" });
      const answer = scene.send("/v1/images/generations", {
        method: "POST",
        key,
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ prompt: "a hat" }),
      });
      const read = async () =>
        (await services.db.select().from(jobs).where(eq(jobs.ownerId, owner.id)).orderBy(desc(jobs.id)))[0];
      await vi.waitUntil(async () => (await read())?.apiKeyId === id);
      await revokeApiKey(services, { userId: owner.id, id });
      expect((await answer).status).toBe(401);
      expect(await read()).toMatchObject({ apiKeyId: id, status: "cancelled" });
    } finally {
      streamLimits.recheckMs = recheckMs;
    }
  });
});
