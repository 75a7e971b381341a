import { addImage } from "@atelier/testing/jobs";
import { addUser, readSample } from "@atelier/testing/pictures";
import { createTestServices, testOrigin, type TestServices } from "@atelier/testing/services";
import { eq, inArray } from "drizzle-orm";
import sharp from "sharp";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { submitBatch } from "../../batches/index.ts";
import { addToBoard, createBoard, removeBoard, restoreBoard, takeFromBoard } from "../../boards/index.ts";
import { schema } from "../../db/index.ts";
import { ingest, listImages, removeImages, restoreImages } from "../../images/index.ts";
import { newId } from "../../platform/index.ts";
import {
  changeLink,
  createLink,
  createLinkSchema,
  getLink,
  listLinks,
  purgeLinks,
  restoreLink,
  revokeLink,
} from "../../links/index.ts";
import { handleVisit } from "../index.ts";

let opened: TestServices;
let ownerId: string;
let first: string;
let second: string;

async function addPicture(name: string, owner = ownerId): Promise<string> {
  const bytes = await readSample(name);
  const upload = { ownerId: owner, role: "upload", bytes, name: `secret ${name}` } as const;
  return (await ingest(opened.services, upload)).id;
}

beforeAll(async () => {
  opened = await createTestServices();
  ownerId = await addUser(opened.services);
  [first, second] = [await addPicture("rocket.jpg"), await addPicture("coffee.png")];
});
afterAll(() => opened.close());

/** A link with the defaults of the API, and its address. */
const share = (input: object = {}) =>
  createLink(opened.services, { ...createLinkSchema.parse({ imageIds: [first], ...input }), ownerId });

const chrome =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36";

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cookie?: string;
  readonly password?: string;
  readonly from?: string;
}

function ask(path: string, { method = "GET", cookie, password, from = "192.0.2.1", headers }: Asked = {}) {
  const isForm = password !== undefined;
  const request = new Request(`${testOrigin}${path}`, {
    method: isForm ? "POST" : method,
    headers: {
      ...headers,
      "x-forwarded-for": from,
      ...(cookie && { cookie }),
      ...(isForm && { origin: "null" }),
    },
    ...(isForm && { body: new URLSearchParams({ password }) }),
  });
  const texts = (key: string, values?: object) => (values ? `${key} ${Object.values(values).join()}` : key);
  return handleVisit(opened.services, request, { texts, locale: "en" });
}

const view = async (path: string, asked?: Asked) => (await ask(path, asked)).text();
const statusOf = async (path: string, asked?: Asked) => (await ask(path, asked)).status;

test("a link shows its pictures to a visitor without a session, privately, and tells no more than it must", async () => {
  const { path } = await share({ imageIds: [second, first], title: "Summer <b>" });
  const answer = await ask(path);
  expect(answer.status).toBe(200);
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    "cache-control": "private, no-store",
    "referrer-policy": "no-referrer",
    "x-robots-tag": expect.stringContaining("noindex"),
    "content-security-policy": expect.stringContaining("default-src 'none'"),
  });
  expect(answer.headers.has("set-cookie")).toBe(false);
  const text = await answer.text();
  expect(text).toContain("Summer &lt;b&gt;");
  expect(text.indexOf(second)).toBeLessThan(text.indexOf(first));
  expect(text).not.toMatch(new RegExp(`secret|${ownerId}`));
  expect(await view(`${path}/2`)).toContain(`${path}/${first}/preview`);
  expect(await statusOf(`${path}/3`)).toBe(404);
});

test("a picture that AI made says so on the page and in the text in its place, a photo does not", async () => {
  const [made, photo] = [await addImage(opened.services, ownerId), first];
  await opened.services.db.update(schema.images).set({ copyOfAi: true }).where(eq(schema.images.id, made));
  const grid = await share({ imageIds: [made, photo] });
  const text = await view(grid.path);
  expect(text).toContain('alt="aiPicture picture 1"');
  expect(text).toContain('alt="picture 2"');
  expect(text.match(/class="ai"/g)).toHaveLength(1);
  expect(await view(`${grid.path}/1`)).toMatch(/class="ai">aiLong<[\s\S]+alt="aiPicture picture 1"/);
  expect(await view(`${grid.path}/2`)).not.toContain('class="ai"');
});

test("pictures are scaled for the page; the original leaves where it may, without metadata and the title of its file", async () => {
  const link = await share({ imageIds: [second] });
  const preview = await ask(`${link.path}/${second}/preview`);
  expect(preview.headers.get("content-type")).toBe("image/webp");
  expect(preview.headers.get("x-robots-tag")).toContain("noindex");
  expect((await sharp(Buffer.from(await preview.arrayBuffer())).metadata()).exif).toBeUndefined();
  const etag = preview.headers.get("etag") ?? "";
  expect(etag).not.toBe("");
  expect(await statusOf(`${link.path}/${second}/original`)).toBe(404);
  expect(await view(link.path)).not.toContain("/original");
  await changeLink(opened.services, { ownerId, id: link.id, mayDownload: true });
  expect(await view(link.path)).toContain("/original");
  const original = await ask(`${link.path}/${second}/original`);
  expect(original.headers.get("content-disposition")).toBe('attachment; filename="picture-1.png"');
  const facts = await sharp(Buffer.from(await original.arrayBuffer())).metadata();
  expect([facts.format, facts.exif, facts.xmp, facts.comments]).toEqual([
    "png",
    undefined,
    undefined,
    undefined,
  ]);
  // A picture of the owner that the link does not show.
  expect(await statusOf(`${link.path}/${first}/preview`)).toBe(404);
});

test("what ended, was revoked, lost its pictures or whose owner is suspended looks like what never was", async () => {
  const { services } = opened;
  const never = await view("/l/unknown");
  expect(never).toContain("gone.title");
  const like = async (path: string) =>
    expect([await statusOf(path), (await view(path)).replace(/nonce="[^"]*"/, "")]).toEqual([
      404,
      never.replace(/nonce="[^"]*"/, ""),
    ]);
  const link = await share();
  const address = { ownerId, id: link.id };
  const shows = async () => expect(await statusOf(link.path)).toBe(200);

  await revokeLink(services, address);
  await like(link.path);
  expect(await statusOf(`${link.path}/${first}/preview`)).toBe(404);
  expect(await statusOf(link.path, { password: "a long enough one" })).toBe(404);
  await restoreLink(services, address);
  await shows();

  const past = new Date(Date.now() - 1_000);
  await services.db.update(schema.links).set({ endsAt: past }).where(eq(schema.links.id, link.id));
  await like(link.path);
  expect(await getLink(services, address)).toMatchObject({ hasEnded: true });
  await changeLink(services, { ...address, endsInDays: null });
  await shows();

  await removeImages(services, { ownerId, ids: [first] });
  await like(link.path);
  await restoreImages(services, { ownerId, ids: [first] });
  await shows();

  await services.db.update(schema.users).set({ banned: true }).where(eq(schema.users.id, ownerId));
  await like(link.path);
  await services.db.update(schema.users).set({ banned: false }).where(eq(schema.users.id, ownerId));
  await shows();
});

test("while the studio has a fault no link is told as ended, neither its page nor a picture of it", async () => {
  const link = await share();
  const away = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED", syscall: "connect" });
  const asking = vi.spyOn(opened.services.db, "execute").mockRejectedValue(away);
  onTestFinished(() => asking.mockRestore());
  for (const path of [link.path, `${link.path}/1`, "/l/unknown"]) {
    const answer = await ask(path);
    expect(answer.status).toBe(503);
    const shown = await answer.text();
    expect(shown).toContain("away.title");
    expect(shown).not.toContain("gone.");
  }
  expect(await statusOf(link.path, { password: "any that is long" })).toBe(503);
  asking.mockRestore();
  expect(await view(link.path)).not.toContain("away.title");
});

test("a password opens a link for one browser, the page before it says nothing, and a new password closes it", async () => {
  const password = "under the old oak";
  const link = await share({ title: "Named", password, mayDownload: true });
  const form = await view(link.path);
  expect(form).toContain("password.title");
  expect(form).not.toMatch(/Named|preview/);
  const file = `${link.path}/${first}/original`;
  expect(await statusOf(file)).toBe(404);
  const wrong = await ask(link.path, { password: "under the new oak" });
  expect([wrong.status, wrong.headers.has("set-cookie")]).toEqual([403, false]);
  const right = await ask(link.path, { password });
  expect([right.status, right.headers.get("location")]).toEqual([303, link.path]);
  const set = right.headers.get("set-cookie") ?? "";
  expect(set).toMatch(new RegExp(`Path=${link.path}(;|$)`));
  expect(set).toContain("HttpOnly");
  const cookie = set.split(";")[0] ?? "";
  expect(await view(link.path, { cookie })).toContain("Named");
  expect(await statusOf(file, { cookie })).toBe(200);
  const other = await share({ password });
  expect(await view(other.path, { cookie })).toContain("password.title");
  expect(await view(link.path, { cookie: cookie.replace(/=\d/, "=9") })).toContain("password.title");
  await changeLink(opened.services, { ownerId, id: link.id, password: "below the old elm" });
  expect(await view(link.path, { cookie })).toContain("password.title");
});

test("an eleventh try of a password in a minute is refused, from that address and for that link alone", async () => {
  const [link, other] = [
    await share({ password: "a password here" }),
    await share({ password: "a password here" }),
  ];
  const guess = (path: string, from: string) => statusOf(path, { password: "not this one", from });
  const tries: number[] = [];
  // A minute that begins meanwhile begins a new count.
  for (let attempt = 0; attempt < 22 && !tries.includes(429); attempt += 1)
    tries.push(await guess(link.path, "198.51.100.7"));
  expect(tries.at(-1)).toBe(429);
  expect(tries.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 403));
  expect(await guess(link.path, "198.51.100.8")).toBe(403);
  expect(await guess(other.path, "198.51.100.7")).toBe(403);
});

test("one who has many networks of IPv6 tries a password no more than four times as often", async () => {
  const link = await share({ password: "a password here" });
  const tries: number[] = [];
  for (let network = 0; network < 90 && !tries.includes(429); network += 1)
    tries.push(
      await statusOf(link.path, { password: "not this one", from: `2001:db8:7:${network.toString(16)}::1` }),
    );
  expect(tries.at(-1)).toBe(429);
  expect(tries.slice(0, 40)).toEqual(Array.from({ length: 40 }, () => 403));
  expect(await statusOf(link.path, { password: "not this one", from: "2001:db8:8::1" })).toBe(403);
});

test("a lookbook shows what is there while it runs, with labels and without prompts", async () => {
  const { db } = opened.services;
  const seeds = { param: "seed", values: [7, 8] };
  const base = { kind: "upscale", inputs: { image: first } };
  const submitter = { userId: ownerId, isGuest: false };
  const submitted = await submitBatch(
    opened.services,
    { base, axes: [seeds] },
    { submitter, signal: AbortSignal.timeout(60_000) },
  );
  const { id: batchId, jobIds } = submitted;
  const foreign = await addImage(opened.services, await addUser(opened.services));
  await db.update(schema.images).set({ title: "of another" }).where(eq(schema.images.id, foreign));
  const axes = [
    { param: "prompt", values: ["hidden words"] },
    { param: "inputs.image", values: [foreign] },
    {
      ...seeds,
      along: [
        { param: "steps.1.prompt", values: ["hidden step", "hidden step"] },
        { param: "steps.1.negativePrompt", values: ["hidden wish", "hidden wish"] },
        { param: "steps.2.inputs.garment", values: [foreign, foreign] },
        { param: "guidance", values: ["hidden guidance", "4.5"] },
        { param: "mood", values: ["hidden mood", "hidden mood"] },
        { param: "steps.1.seed", values: [31, 32] },
        { param: "size", values: ["1024x768", "1024x768"] },
        { param: "workflow", values: ["upscale_4x", "upscale_4x"] },
        { param: "style", values: ["hidden style of someone", "hidden style of someone"] },
      ],
    },
  ];
  await db.update(schema.batches).set({ axes }).where(eq(schema.batches.id, batchId));
  const end = async (jobId = "", imageId = "") => {
    await db.insert(schema.jobOutputs).values({ jobId, position: 0, imageId });
    await db
      .update(schema.jobs)
      .set({ status: "completed", endedAt: new Date() })
      .where(eq(schema.jobs.id, jobId));
  };
  await end(jobIds[0], first);
  const { path, id } = await share({ imageIds: undefined, batchId });
  const byBrowser = { headers: { "user-agent": chrome } };
  const text = await view(path, byBrowser);
  expect(text).toContain("count 1 · open 1");
  expect(text).toContain("seed 7");
  expect(text).toContain("steps.1.seed 31 · size 1024x768 · workflow upscale_4x");
  expect(text).not.toMatch(/hidden (words|step|wish|guidance|mood|style)|mood/);
  expect(text).not.toContain(foreign);
  expect(text).not.toContain("of another");
  await end(jobIds[1], second);
  expect(await view(`${path}?again`, byBrowser)).toMatch(/seed 7[\s\S]*seed 8 · guidance 4.5/);
  await expect.poll(async () => (await getLink(opened.services, { ownerId, id })).views).toBe(1);
  await db.update(schema.batches).set({ deletedAt: new Date() }).where(eq(schema.batches.id, batchId));
  expect(await statusOf(path)).toBe(404);
});

test("is:shared finds what links of pictures, batches and boards show, as long as they do", async () => {
  const { services } = opened;
  const owner = await addUser(services);
  const [single, result, onBoard, on] = [
    await addImage(services, owner),
    await addImage(services, owner),
    await addImage(services, owner),
    await addImage(services, owner),
  ];
  const found = async () => {
    const { items } = await listImages(services, { ownerId: owner, search: "is:shared" });
    return items.map(({ id }) => id).toSorted();
  };
  const submitted = await submitBatch(
    services,
    { jobs: [{ kind: "upscale", inputs: { image: single } }] },
    { submitter: { userId: owner, isGuest: false }, signal: AbortSignal.timeout(60_000) },
  );
  await services.db
    .insert(schema.jobOutputs)
    .values({ jobId: submitted.jobIds[0] ?? "", position: 0, imageId: result });
  const board = await createBoard(services, { ownerId: owner, name: "Trips", imageIds: [onBoard] });
  await createBoard(services, { ownerId: owner, name: "Nobody's", imageIds: [on] });
  expect(await found()).toEqual([]);
  const shows = async (shown: object, imageId: string) => {
    const { id } = await createLink(services, { ...createLinkSchema.parse(shown), ownerId: owner });
    expect(await found()).toEqual([imageId]);
    await changeLink(services, { ownerId: owner, id, endsInDays: null });
    expect(await found()).toEqual([imageId]);
    await services.db
      .update(schema.links)
      .set({ endsAt: new Date(Date.now() - 1_000) })
      .where(eq(schema.links.id, id));
    expect(await found()).toEqual([]);
    await revokeLink(services, { ownerId: owner, id });
  };
  await shows({ imageIds: [single] }, single);
  await shows({ batchId: submitted.id }, result);
  await shows({ boardId: board.id }, onBoard);
  await createLink(services, { ...createLinkSchema.parse({ boardId: board.id }), ownerId: owner });
  await removeBoard(services, { ownerId: owner, id: board.id });
  expect(await found()).toEqual([]);
});

test("a link of a board shows its owner's pictures as they are at each visit, until the board is removed", async () => {
  const { services } = opened;
  const stranger = await addUser(services);
  const board = await createBoard(services, { ownerId, name: "Trips", imageIds: [first] });
  const search = await createBoard(services, { ownerId, name: "Found", search: "cup" });
  const { path, id } = await share({ imageIds: undefined, boardId: board.id, mayDownload: true });
  expect(await getLink(services, { ownerId, id })).toMatchObject({
    boardId: board.id,
    pictures: 1,
    coverId: first,
  });
  expect(await view(path)).toContain(first);
  expect(await statusOf(`${path}/${second}/preview`)).toBe(404);
  await addToBoard(services, { userId: ownerId, id: board.id, imageIds: [second] });
  expect((await view(path)).indexOf(second)).toBeGreaterThan(0);
  expect((await (await ask(`${path}/${second}/original`)).arrayBuffer()).byteLength).toBeGreaterThan(0);
  // What others put on a board is not its owner's to show.
  const foreign = await addPicture("rocket.jpg", stranger);
  await services.db.insert(schema.boardImages).values({ boardId: board.id, imageId: foreign });
  expect(await view(path)).not.toContain(foreign);
  expect(await statusOf(`${path}/${foreign}/preview`)).toBe(404);
  await removeBoard(services, { ownerId, id: board.id });
  expect(await statusOf(path)).toBe(404);
  await restoreBoard(services, { ownerId, id: board.id });
  expect(await statusOf(path)).toBe(200);
  await takeFromBoard(services, { userId: ownerId, id: board.id, imageIds: [first, second] });
  expect(await statusOf(path)).toBe(404);
  for (const [boardId, owner] of [
    [board.id, stranger],
    [search.id, ownerId],
  ] as const)
    await expect(
      createLink(services, { ...createLinkSchema.parse({ boardId }), ownerId: owner }),
    ).rejects.toMatchObject({ code: "not_found" });
  expect(createLinkSchema.safeParse({ boardId: board.id, imageIds: [first] }).success).toBe(false);
});

test("the database has no token, others cannot share or change what is not theirs, and what is over goes", async () => {
  const { services } = opened;
  const link = await share();
  const token = link.path.slice("/l/".length);
  expect(Buffer.from(token, "base64url").length).toBeGreaterThanOrEqual(16);
  const rows = await services.db.select().from(schema.links).where(eq(schema.links.id, link.id));
  expect(JSON.stringify(rows)).not.toContain(token);
  const stranger = await addUser(services);
  const refused = { code: "not_found" };
  await expect(
    createLink(services, { ...createLinkSchema.parse({ imageIds: [first] }), ownerId: stranger }),
  ).rejects.toMatchObject(refused);
  for (const act of [revokeLink, restoreLink, changeLink])
    await expect(act(services, { ownerId: stranger, id: link.id })).rejects.toMatchObject(refused);
  expect(await listLinks(services, stranger)).toEqual([]);
  await purgeLinks(services);
  expect((await listLinks(services, ownerId)).map(({ id }) => id)).toContain(link.id);
  await revokeLink(services, { ownerId, id: link.id });
  expect((await listLinks(services, ownerId)).map(({ id }) => id)).not.toContain(link.id);
  const long = new Date(Date.now() - services.config.retention.undoDeleteMs - 1_000);
  await services.db.update(schema.links).set({ revokedAt: long }).where(eq(schema.links.id, link.id));
  await expect(restoreLink(services, { ownerId, id: link.id })).rejects.toMatchObject(refused);
  expect(await purgeLinks(services)).toBe(1);
});

const cubot =
  "Mozilla/5.0 (Linux; Android 11; CUBOT NOTE 20) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36";

test("a visit is what a browser asks for, and no preview of a chat program, list or look ahead", async () => {
  const { id, path } = await share();
  const agents = [
    "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
    "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
    "WhatsApp/2.23.20.0",
    "TelegramBot (like TwitterBot)",
    "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
    "Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0",
    "Synapse (bot; +https://github.com/matrix-org/synapse)",
    "Mattermost-Bot/1.1",
    "kakaotalk-scrap/1.0; +https://devtalk.kakao.com/t/scrap/33984",
    "Mozilla/5.0 (compatible; Yahoo! Slurp)",
    "python-requests/2.32",
    "curl/8.5.0",
    "",
    "  ",
  ];
  for (const agent of agents) expect(await statusOf(path, { headers: { "user-agent": agent } })).toBe(200);
  await ask(path, { headers: {} });
  for (const name of ["sec-purpose", "purpose"]) {
    const ahead = await ask(path, { headers: { "user-agent": chrome, [name]: "prefetch;prerender" } });
    expect(await ahead.text()).toMatch(/<html[^>]* data-ahead/);
  }
  const visits = async () => (await getLink(opened.services, { ownerId, id })).views;
  expect(await visits()).toBe(0);
  for (const agent of [chrome, cubot]) {
    const shown = await ask(path, { headers: { "user-agent": agent } });
    expect(await shown.text()).not.toMatch(/<html[^>]* data-ahead/);
  }
  await expect.poll(visits).toBe(2);
});

test("a revoked link opens again only while its owner may have one more", async () => {
  const { services } = opened;
  const link = await share({});
  await revokeLink(services, { ownerId, id: link.id });
  const rows = Array.from({ length: 200 }, () => ({ id: newId(), ownerId, tokenHash: newId() }));
  await services.db.insert(schema.links).values(rows);
  const again = () => restoreLink(services, { ownerId, id: link.id });
  await expect(again()).rejects.toMatchObject({ code: "conflict" });
  expect(await statusOf(link.path)).toBe(404);
  await services.db.delete(schema.links).where(
    inArray(
      schema.links.id,
      rows.map(({ id }) => id),
    ),
  );
  expect(await again()).toMatchObject({ id: link.id });
});
