import {
  exifWith,
  jpegWithExif,
  pngWithLongText,
  pngWithTexts,
  webpWithExif,
} from "@atelier/testing/carried";
import { addUser, pngChunk, withJpegSegment, withPngChunk } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import sharp from "sharp";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { wordsOf } from "./describe.ts";
import { countMonths, ingest, listImages, type ListImagesInput, searchImages } from "./index.ts";

const picture = () =>
  sharp({ create: { width: 16, height: 24, channels: 3, background: { r: 120, g: 90, b: 40 } } });

/** When the photo was taken, as an upload from this zone has it; null for one that stands where it is added. */
const takenOf = async (bytes: Buffer | Promise<Buffer>, timezone = "UTC") =>
  (await wordsOf(await bytes, { name: "a.jpg", role: "upload", timezone })).createdAt?.toISOString() ?? null;

const xmpWith = (attributes: string, elements = "") =>
  `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about=""${attributes}>${elements}</rdf:Description></rdf:RDF></x:xmpmeta>`;
const [time, offset, part, digitized] = [0x90_03, 0x90_11, 0x92_91, 0x90_04];
const cameraWith = (inner: Readonly<Record<number, string>>) => exifWith(null, { inner });
const photoWith = (inner: Readonly<Record<number, string>>) => jpegWithExif(cameraWith(inner));

/** A JPEG with these data sets in the second record of IPTC. */
async function jpegWithIptc(sets: Readonly<Record<number, string>>): Promise<Buffer> {
  const iptc = Buffer.concat(
    Object.entries(sets).map(([name, text]) =>
      Buffer.concat([Buffer.from([0x1c, 2, Number(name), 0, text.length]), Buffer.from(text)]),
    ),
  );
  const block = Buffer.concat([
    Buffer.from("Photoshop 3.0\u00008BIM\u0004\u0004\0\0\0\0\0", "latin1"),
    Buffer.from([iptc.length]),
    iptc,
  ]);
  return withJpegSegment(await picture().jpeg().toBuffer(), 0xed, block);
}

const summer = { [time]: "2016:07:12 10:11:12", [offset]: "+02:00", [part]: "2500" };
const summerAt = "2016-07-12T08:11:12.250Z";

describe("what a file says of its time", () => {
  test("camera data of every format, with the offset and the part of a second", async () => {
    const exif = {
      IFD2: {
        DateTimeOriginal: "2016:07:12 10:11:12",
        OffsetTimeOriginal: "+02:00",
        SubSecTimeOriginal: "25",
      },
    };
    const withExif = picture().withExif(exif);
    const png = await picture().png().toBuffer();
    const files = [
      withExif.clone().jpeg().toBuffer(),
      withExif.clone().png().toBuffer(),
      withExif.clone().webp().toBuffer(),
      withExif.clone().avif().toBuffer(),
      photoWith(summer),
      webpWithExif(cameraWith(summer)),
      withPngChunk(png, pngChunk("eXIf", cameraWith(summer))),
      // A TIFF is made as camera data are.
      cameraWith(summer),
    ];
    for (const file of files) expect(await takenOf(file)).toBe(summerAt);
  });

  test("XMP as attribute and as element, IPTC, and the time of a PNG", async () => {
    const elements = "<exif:DateTimeOriginal>2016-07-12T10:11:12.25+02:00</exif:DateTimeOriginal>";
    const attribute = ' photoshop:DateCreated="2016-07-12T10:11:12.250+02:00"';
    const files = [
      picture().withXmp(xmpWith("", elements)).jpeg().toBuffer(),
      picture().withXmp(xmpWith(attribute)).webp().toBuffer(),
      picture().withXmp(xmpWith(' xmp:CreateDate="2016-07-12T08:11:12.25Z"')).png().toBuffer(),
    ];
    for (const file of files) expect(await takenOf(file)).toBe(summerAt);
    const whole = "2016-07-12T08:11:12.000Z";
    expect(await takenOf(jpegWithIptc({ 55: "20160712", 60: "101112+0200" }))).toBe(whole);
    expect(await takenOf(jpegWithIptc({ 55: "20160712" }))).toBe("2016-07-12T00:00:00.000Z");
    for (const text of [
      "Tue, 12 Jul 2016 10:11:12 +0200",
      "12 July 2016 08:11:12 GMT",
      "2016:07:12 08:11:12",
      "2016-07-12T10:11:12+02:00",
    ])
      expect(await takenOf(pngWithTexts({ "Creation Time": text }))).toBe(whole);
    expect(await takenOf(pngWithLongText("Creation Time", "2016-07-12T08:11:12Z", true))).toBe(whole);
    expect(await takenOf(pngWithTexts({ "Creation Time": "12 Jul 2016" }))).toBe("2016-07-12T00:00:00.000Z");
  });

  test("a time without an offset is one of the sender's zone, also about the change of clocks", async () => {
    const evening = photoWith({ [time]: "2016:07:12 23:30:00", [offset]: "   :  " });
    expect(await takenOf(evening, "Europe/Sofia")).toBe("2016-07-12T20:30:00.000Z");
    expect(await takenOf(evening, "Pacific/Auckland")).toBe("2016-07-12T11:30:00.000Z");
    expect(await takenOf(evening, "America/Los_Angeles")).toBe("2016-07-13T06:30:00.000Z");
    expect(await takenOf(evening, "UTC")).toBe("2016-07-12T23:30:00.000Z");
    expect(await takenOf(evening, "Mars/Olympus")).not.toBeNull();
    const inSpring = photoWith({ [time]: "2024:03:31 23:30:00" });
    expect(await takenOf(inSpring, "Europe/Sofia")).toBe("2024-03-31T20:30:00.000Z");
    const inAutumn = photoWith({ [time]: "2024:10:27 00:30:00" });
    expect(await takenOf(inAutumn, "Europe/Sofia")).toBe("2024-10-26T21:30:00.000Z");
  });

  test("parts of a day may be missing, as of old photos", async () => {
    const dated = (text: string) =>
      takenOf(
        picture()
          .withXmp(xmpWith(` photoshop:DateCreated="${text}"`))
          .jpeg()
          .toBuffer(),
      );
    expect(await dated("1931")).toBe("1931-01-01T00:00:00.000Z");
    expect(await dated("1931-05")).toBe("1931-05-01T00:00:00.000Z");
    expect(await dated("1970-01-01")).toBe("1970-01-01T00:00:00.000Z");
    expect(await takenOf(jpegWithIptc({ 55: "19310000" }))).toBe("1931-01-01T00:00:00.000Z");
    expect(await takenOf(photoWith({ [time]: "1826:01:01 12:00:00" }))).toBe("1826-01-01T12:00:00.000Z");
  });

  test.each([
    "0000:00:00 00:00:00",
    "    :  :     :  :  ",
    "1970:01:01 00:00:00",
    "1825:12:31 23:59:59",
    "2016:13:01 10:00:00",
    "2016:02:30 10:00:00",
    "2016:07:12 25:00:00",
    "2016:07:12 24:00:00",
    "2016:07:12 10:61:00",
    "9999:12:31 23:59:59",
    "yesterday",
    "",
  ])("%j is no time, and the next place of the file is looked at", async (text) => {
    expect(await takenOf(photoWith({ [time]: text }))).toBeNull();
    expect(await takenOf(photoWith({ [time]: text, [digitized]: "2016:07:12 10:11:12" }))).toBe(
      "2016-07-12T10:11:12.000Z",
    );
  });

  test("a clock that is ahead gives no time in the future", async () => {
    const inOneHour = new Date(Date.now() + 3_600_000).toISOString().slice(0, 19);
    const anHourAgo = new Date(Date.now() - 3_600_000).toISOString().slice(0, 19);
    const text = (iso: string) => iso.replaceAll("-", ":").replace("T", " ");
    expect(await takenOf(photoWith({ [time]: text(inOneHour) }))).toBeNull();
    expect(await takenOf(photoWith({ [time]: text(anHourAgo) }))).toBe(`${anHourAgo}.000Z`);
  });

  test("a mask has none", async () => {
    const words = await wordsOf(await photoWith(summer), { name: "a.jpg", role: "mask" });
    expect(words.createdAt).toBeUndefined();
  });

  test("hostile camera data end: loops, counts without end, places outside, and any bytes", async () => {
    const exif = cameraWith(summer);
    const below = exif.readUInt32BE(10 + 8);
    const broken = [
      [10 + 8, 8],
      [10 + 8, 0xff_ff_ff_ff],
      [4, 0xff_ff_ff_f0],
      [4, below],
      [below + 2 + 4, 0xff_ff_ff_ff],
      [below + 2 + 8, 0xff_ff_ff_ff],
      [below, 0xff_ff_ff_ff],
    ] as const;
    for (const [at, value] of broken) {
      const bytes = Buffer.from(exif);
      bytes.writeUInt32BE(value, at);
      expect(await takenOf(jpegWithExif(bytes))).toBeOneOf([null, summerAt, "2016-07-12T08:11:12.000Z"]);
    }
    let seed = 42;
    const random = (below: number) => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
      return (seed >>> 8) % below;
    };
    const photo = await photoWith(summer);
    for (let turn = 0; turn < 600; turn += 1) {
      const bytes = Buffer.from(photo);
      for (let changes = 0; changes <= turn % 4; changes += 1) bytes[random(exif.length + 40)] = random(256);
      const found = (await wordsOf(bytes, { name: "a.jpg", role: "upload", timezone: "UTC" })).createdAt;
      const ms = found?.getTime() ?? 0;
      expect(ms).toBeLessThanOrEqual(Date.now());
      expect(ms).toBeGreaterThanOrEqual(Date.UTC(1826, 0));
    }
  });
});

describe("in the gallery", () => {
  let opened: TestServices;
  let ownerId: string;
  beforeAll(async () => {
    opened = await createTestServices();
  });
  afterAll(() => opened.close());
  beforeEach(async () => {
    ownerId = await addUser(opened.services);
  });

  let colour = 0;
  /** A picture of its own, with the time that its camera wrote. */
  async function add(day: string | null): Promise<string> {
    colour += 1;
    const background = { r: colour, g: 10, b: 20 };
    const plain = sharp({ create: { width: 12, height: 8, channels: 3, background } });
    const DateTimeOriginal = `${day?.replaceAll("-", ":")} 12:00:00`;
    const photo = day === null ? plain : plain.withExif({ IFD2: { DateTimeOriginal } });
    const bytes = await photo.jpeg().toBuffer();
    return (await ingest(opened.services, { ownerId, role: "upload", bytes, timezone: "UTC" })).id;
  }
  const list = async (input: Omit<ListImagesInput, "ownerId"> = {}) =>
    listImages(opened.services, { ...input, ownerId });
  const idsOf = async (input: Omit<ListImagesInput, "ownerId"> = {}) =>
    (await list(input)).items.map(({ id }) => id);

  test("photos stand at their day, say when they were added, and are found by it", async () => {
    const before = Date.now();
    const late = await add("2019-03-02");
    const now = await add(null);
    const early = await add("2016-07-12");
    expect(await idsOf()).toEqual([now, late, early]);
    expect(await idsOf({ stacks: true })).toEqual([now, late, early]);
    const [ofNow, ofLate, ofEarly] = (await list()).items;
    expect(ofEarly).toMatchObject({ createdAt: "2016-07-12T12:00:00.000Z" });
    expect(Date.parse(ofLate?.addedAt ?? "")).toBeGreaterThan(before - 60_000);
    expect(ofNow?.addedAt).toBe(ofNow?.createdAt);
    expect(await idsOf({ search: "from:2016 to:2016" })).toEqual([early]);
    expect(await idsOf({ search: "to:2018" })).toEqual([early]);
    expect(await idsOf({ search: "from:2017" })).toEqual([now, late]);
    expect(await idsOf({ search: "july 2016" })).toEqual([early]);
    expect(await idsOf({ from: new Date("2019-01-01"), to: new Date("2019-12-31") })).toEqual([late]);
    const jump = { from: new Date("2019-03-01"), before: new Date("2019-04-01"), skip: 0 };
    expect(await idsOf({ jump })).toEqual([late, early]);
    expect(await countMonths(opened.services, { ownerId })).toEqual([
      { month: new Date().toISOString().slice(0, 7), pictures: 1 },
      { month: "2019-03", pictures: 1 },
      { month: "2016-07", pictures: 1 },
    ]);
  });

  test("what came last is first in the order of adding, by pages in both directions", async () => {
    const ids: string[] = [];
    for (const day of ["2019-03-02", null, "2016-07-12", "2016-07-12"]) ids.unshift(await add(day));
    expect(await idsOf({ order: "added" })).toEqual(ids);
    const first = await list({ order: "added", limit: 3 });
    expect(first.items.map(({ id }) => id)).toEqual(ids.slice(0, 3));
    const next = await list({ order: "added", limit: 3, cursor: String(first.nextCursor) });
    expect(next).toMatchObject({ items: [{ id: ids[3] }], nextCursor: null });
    const cursor = String(next.previousCursor);
    expect(await idsOf({ order: "added", limit: 2, cursor, newer: true })).toEqual(ids.slice(1, 3));
    const all = await searchImages(opened.services, { ownerId, words: [], limit: 9 });
    expect(all.map(({ id }) => id)).toEqual(ids);
    const found = await searchImages(opened.services, { ownerId, words: ["upload"], limit: 9 });
    expect(found.map(({ id }) => id)).toEqual([ids[2], ids[3], ids[0], ids[1]]);
  });

  test("the same bytes again change nothing", async () => {
    const bytes = await photoWith(summer);
    const send = (timezone: string) => ingest(opened.services, { ownerId, role: "upload", bytes, timezone });
    const first = await send("UTC");
    expect(await send("Asia/Tokyo")).toMatchObject({ id: first.id, created: false, addedAt: first.addedAt });
  });
});
