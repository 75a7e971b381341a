import { expect, it } from "vitest";
import { bytesOfText, flagsOf, outputsOf } from "./outputs.ts";
import { madeRun } from "./refusals.ts";

const png = Buffer.from("\x89PNG\r\n\x1a\n and the rest of a picture", "latin1");
const base64 = png.toString("base64");
const bytes = { bytes: png };
const url = { url: "https://p.test/1.png" };
const { url: address } = url;
const percent = [...png].map((byte) => `%${byte.toString(16).padStart(2, "0").toUpperCase()}`).join("");

it.each([
  ["an address", address, [url]],
  ["an address with blanks around it", ` ${address}\n`, [url]],
  [
    "several addresses, each once",
    [address, address, "https://p.test/2.png"],
    [url, { url: "https://p.test/2.png" }],
  ],
  ["a data URI", `data:image/png;base64,${base64}`, [bytes]],
  ["a data URI with a parameter", `data:image/png;charset=utf-8;base64,${base64}`, [bytes]],
  ["a data URI in capitals", `DATA:IMAGE/PNG;BASE64,${base64}`, [bytes]],
  ["a data URI without a type", `data:;base64,${base64}`, [bytes]],
  ["a data URI of bytes", `data:application/octet-stream;base64,${base64}`, [bytes]],
  ["percent-encoding", `data:image/png,${percent}`, [bytes]],
  ["percent-encoding and base64", `data:image/png;base64,${encodeURIComponent(base64)}`, [bytes]],
  ["bare base64", base64, [bytes]],
  ["base64 in lines", base64.replaceAll(/.{10}/g, "$&\n"), [bytes]],
  ["base64 of addresses", png.toString("base64url"), [bytes]],
  ["base64 with half of a prefix", `base64,${base64}`, [bytes]],
  ["base64 with a type", `image/png;base64,${base64}`, [bytes]],
  ["objects", { images: [{ url: address, width: 9, content_type: "image/png" }] }, [url]],
  ["a nested object", { result: { outputs: [{ image: { uri: address } }] } }, [url]],
  ["one picture in two forms", [{ url: address, b64_json: base64 }], [bytes]],
  ["sizes of one picture", { raw: { url: address }, min: { url: "https://p.test/small.png" } }, [url]],
  ["unknown names", { upscaled: address }, [url]],
  ["what is no picture", { prompt: address, mask_image: address, preview: address, logs: address }, []],
  ["a film", { url: "https://p.test/a.mp4", content_type: "video/mp4" }, []],
  ["a sentence", "I cannot do that.", []],
  ["nothing", null, []],
  ["other addresses", ["ftp://p.test/1.png", "file:///etc/passwd", "javascript:1"], []],
])("E6 pictures are found in %s", (_, value, found) => {
  expect(outputsOf(value)).toEqual(found);
});

it("M1 an answer that is nested without an end, or has pictures without number, is read to a bound", () => {
  let deep: unknown = address;
  for (let level = 0; level < 100_000; level += 1) deep = [deep];
  expect(outputsOf(deep)).toEqual([]);
  expect(outputsOf(Array.from({ length: 10_000 }, (_, at) => `https://p.test/${at}.png`))).toHaveLength(32);
});

it("flags beside pictures are read, whatever their name", () => {
  expect(flagsOf({ has_nsfw_concepts: [false, true] }, 2)).toEqual([false, true]);
  expect(flagsOf({ nsfw: true }, 2)).toEqual([true, true]);
  expect(flagsOf({ has_nsfw_concepts: [false], images: [{ url: address }] }, 1)).toEqual([false]);
  expect(flagsOf({ images: [{ safety: { flagged: "true" } }, {}] }, 2)).toEqual([true, false]);
  expect(flagsOf({ data: [{ content_filter_results: { hate: { filtered: true } } }] }, 1)).toEqual([true]);
  expect(flagsOf({ content_filter_results: { hate: { filtered: false } } }, 1)).toEqual([false]);
  const xai = [
    { url: address, respect_moderation: true },
    { url: "", respect_moderation: false },
  ];
  expect(flagsOf({ data: xai }, 2)).toEqual([false, true]);
  expect(flagsOf({ respect_moderation: false }, 1)).toEqual([true]);
  const blurred = [
    { base64: "QUJD", finishReason: "CONTENT_FILTERED" },
    { base64: "QUJE", finishReason: "SUCCESS" },
  ];
  expect(flagsOf({ images: blurred }, 2)).toEqual([true, false]);
  expect(flagsOf({ choices: [{ finish_reason: "stop" }], finish_reason: "content_filter" }, 1)).toEqual([
    true,
  ]);
  expect(flagsOf({ finish_reason: "length", finishReason: null }, 1)).toEqual([false]);
});

it("a drawing is a picture, as text, as base64 and as an address of data", () => {
  const svg = `<?xml version="1.0"?>\n<!-- a logo --><svg xmlns="http://www.w3.org/2000/svg"/>`;
  const base64 = Buffer.from(svg).toString("base64");
  for (const given of [
    svg,
    base64,
    `data:image/svg+xml;base64,${base64}`,
    `data:image/svg+xml,${encodeURIComponent(svg)}`,
  ])
    expect(outputsOf({ data: [{ url: given }] })).toEqual([{ bytes: Buffer.from(svg) }]);
  expect(outputsOf({ output: `<?xml version="1.0"?><Error><Code>svg</Code></Error>` })).toEqual([]);
});

it("a text that is no base64 has no bytes", () => {
  expect(bytesOfText("not base64!")).toBeNull();
  expect(bytesOfText(`A${" ".repeat(400_000)}!`)).toBeNull();
  expect(bytesOfText(`A${"= \n".repeat(200_000)}=`)).toBeNull();
  expect(bytesOfText(`data:image/png;base64,QUJD${"\n".repeat(400_000)}`)).toEqual(Buffer.from("ABC"));
});

const refused = { url: "", respect_moderation: false };
const good = { url: address, respect_moderation: true };
const other = { url: "https://p.test/2.png", respect_moderation: false };

it.each([
  ["without a picture before it", { data: [refused, good] }],
  ["in a list of flags", { images: ["", address], has_nsfw_concepts: [true, false] }],
  ["beside one that is named twice", { data: [good, good, refused, other] }],
  [
    "in the list of flags of an item",
    { data: [{ images: ["https://p.test/0.png", address], has_nsfw_concepts: [true, false] }] },
  ],
  [
    "in that of an item behind others",
    { output: [refused, { images: [address, "https://p.test/3.png"], nsfw: ["false", "true"] }, other] },
  ],
  [
    "in that of a part",
    { result: { images: [{ url: address }, { url: "https://p.test/4.png" }], nsfw: [0, 1] } },
  ],
  [
    "in that of a part of an item",
    { results: [{ output: { images: ["https://p.test/5.png", address], is_blocked: [true, false] } }] },
  ],
  ["with several pictures of the good one", { data: [refused, { images: [address, address] }] }],
])("a paid picture is kept beside a refused one: %s", (_, body) => {
  expect(madeRun(body)).toMatchObject({ state: "succeeded", outputs: [url] });
});

it("a refused picture is none, wherever it stands", () => {
  const isRefused = (isCharged: boolean) => ({ state: "failed", error: { class: "moderation", isCharged } });
  expect(madeRun({ data: [refused, refused] })).toMatchObject(isRefused(false));
  expect(madeRun({ data: [refused, other] })).toMatchObject(isRefused(true));
  expect(madeRun({ images: ["", address], nsfw: [false, true] })).toMatchObject(isRefused(true));
  const both = { images: [address, other.url] };
  expect(madeRun({ data: [{ ...both, nsfw: [true, true] }] })).toMatchObject(isRefused(true));
  expect(madeRun({ data: [{ ...both, nsfw: true }] })).toMatchObject(isRefused(true));
  expect(madeRun({ data: [{ ...both, nsfw: [true] }] })).toMatchObject(isRefused(true));
  expect(madeRun({ data: [{ url: address, nsfw: [true] }] })).toMatchObject(isRefused(true));
  expect(madeRun({ result: { images: [address], nsfw: [true] } })).toMatchObject(isRefused(true));
  expect(madeRun({ result: { ...both, nsfw: true } })).toMatchObject(isRefused(true));
});
