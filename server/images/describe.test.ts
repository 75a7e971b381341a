import { deflateSync } from "node:zlib";
import {
  carriedExamples,
  exifWith,
  growthOf,
  jpegWithExif,
  pngWithLongText,
  pngWithPacked,
  pngWithTexts,
  webpWithExif,
} from "@atelier/testing/carried";
import { withJpegSegment } from "@atelier/testing/pictures";
import sharp, { type Sharp } from "sharp";
import { describe, expect, test } from "vitest";
import { wordsOf } from "./describe.ts";

const describedAs = async (bytes: Buffer | Promise<Buffer>, name = "IMG_0001.jpg") =>
  (await wordsOf(await bytes, { name, role: "upload" })).description ?? "";

const picture = () =>
  sharp({ create: { width: 16, height: 24, channels: 3, background: { r: 120, g: 90, b: 40 } } });

/** As Lightroom writes it; `inside` stands in its description. */
const xmpWith = (inside: string, prefix = "dc") =>
  `<?xpacket begin="\uFEFF"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" xmlns:${prefix}="http://purl.org/dc/elements/1.1/">${inside}</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>`;

const inLanguage = (name: string, text: string, language = "x-default") =>
  `<${name}><rdf:Alt><rdf:li xml:lang="${language}">${text}</rdf:li></rdf:Alt></${name}>`;

const harbour = xmpWith(
  `${inLanguage("dc:title", "Brest")}${inLanguage("dc:description", "A harbour &amp; its fog, 7 &lt; 8&#x2014;caf&#233;")}
  <dc:subject><rdf:Bag><rdf:li>boats</rdf:li><rdf:li>морской туман</rdf:li><rdf:li/><rdf:li>boats</rdf:li></rdf:Bag></dc:subject>`,
);
const harbourWords = "Brest\nA harbour & its fog, 7 < 8—café\nboats, морской туман";

const u16 = (value: number) => Buffer.from([value >> 8, value & 0xff]);
const dataset = (record: number, name: number, text: Buffer) =>
  Buffer.concat([Buffer.from([0x1c, record, name]), u16(text.length), text]);

/** A JPEG with these data sets of IPTC in the block of Photoshop. */
async function jpegWithIptc(...sets: readonly Buffer[]): Promise<Buffer> {
  const iptc = Buffer.concat(sets);
  const other = Buffer.from("8BIM\u0003\u00ED\u0005names\0\0\0\u0003abc\0", "latin1");
  const block = Buffer.concat([Buffer.from("8BIM\u0004\u0004\0\0\0\0", "latin1"), u16(iptc.length), iptc]);
  const data = Buffer.concat([Buffer.from("Photoshop 3.0\0"), other, block]);
  return withJpegSegment(await picture().jpeg().toBuffer(), 0xed, data);
}

/** A GIF with an XMP packet, which is in no parts as other blocks are. */
async function gifWithXmp(xmp: string): Promise<Buffer> {
  const gif = await picture().gif().toBuffer();
  const colours = (gif[10] ?? 0) & 0x80 ? 3 * 2 ** (((gif[10] ?? 0) & 7) + 1) : 0;
  const trailer = Buffer.from([1, ...Array.from({ length: 256 }, (_none, at) => 255 - at), 0]);
  const block = Buffer.concat([Buffer.from("!\u00FF\u000BXMP DataXMP", "latin1"), Buffer.from(xmp), trailer]);
  return Buffer.concat([gif.subarray(0, 13 + colours), block, gif.subarray(13 + colours)]);
}

const encoders: Readonly<Record<string, (sharp: Sharp) => Sharp>> = {
  JPEG: (image) => image.jpeg(),
  PNG: (image) => image.png(),
  WebP: (image) => image.webp(),
  AVIF: (image) => image.avif(),
  TIFF: (image) => image.tiff(),
};

describe("what people wrote", () => {
  test.each(Object.entries(encoders))("XMP and camera data of a %s", async (name, encode) => {
    expect(await describedAs(encode(picture().withXmp(harbour)).toBuffer())).toBe(harbourWords);
    const exif = { IFD0: { ImageDescription: "Grandma in Brest" } };
    // The encoder leaves the text out of a TIFF, which is made as camera data are.
    const photo =
      name === "TIFF"
        ? exifWith(null, { texts: { 0x01_0e: "Grandma in Brest" } })
        : await encode(picture().withExif(exif)).toBuffer();
    expect(await describedAs(photo)).toBe("Grandma in Brest");
  });

  test("XMP of a GIF, and of a HEIC, which is the same container as AVIF", async () => {
    expect(await describedAs(gifWithXmp(harbour))).toBe(harbourWords);
    const heic = await picture().withXmp(harbour).avif().toBuffer();
    heic.write("heic", 8, "latin1");
    expect(await describedAs(heic)).toBe(harbourWords);
  });

  test("XMP with another prefix, in the language that others are without, with text beside markup", async () => {
    const other = xmpWith(
      `<d:description><rdf:Alt><rdf:li xml:lang="de">Ein Hafen</rdf:li><rdf:li xml:lang='x-default'>A <b>harbour</b><![CDATA[ at night & day]]></rdf:li></rdf:Alt></d:description>`,
      "d",
    );
    expect(await describedAs(picture().withXmp(other).jpeg().toBuffer())).toBe("A harbour at night & day");
    const first = xmpWith(inLanguage("dc:description", "Ein Hafen", "de") + inLanguage("dc:title", ""));
    expect(await describedAs(picture().withXmp(first).jpeg().toBuffer())).toBe("Ein Hafen");
    const plain = xmpWith("<dc:description>No list</dc:description>");
    expect(await describedAs(picture().withXmp(plain).jpeg().toBuffer())).toBe("No list");
  });

  test("IPTC in UTF-8 and in Latin-1, and XMP before it", async () => {
    const utf8 = [
      dataset(1, 90, Buffer.from("\u001B%G")),
      dataset(2, 5, Buffer.from("Brest")),
      dataset(2, 25, Buffer.from("boats")),
      dataset(2, 25, Buffer.from("туман")),
      dataset(2, 120, Buffer.from("Café at the harbour")),
    ];
    expect(await describedAs(jpegWithIptc(...utf8))).toBe("Brest\nCafé at the harbour\nboats, туман");
    const latin = [
      dataset(2, 120, Buffer.from("Café à Brest", "latin1")),
      dataset(2, 25, Buffer.from("été", "latin1")),
    ];
    expect(await describedAs(jpegWithIptc(...latin))).toBe("Café à Brest\nété");
    const packet = Buffer.concat([Buffer.from("http://ns.adobe.com/xap/1.0/\0"), Buffer.from(harbour)]);
    expect(await describedAs(withJpegSegment(await jpegWithIptc(...latin), 0xe1, packet))).toBe(harbourWords);
  });

  test("what Windows writes, in UTF-16, and texts of a PNG", async () => {
    const wide = (text: string) => Buffer.from(`${text}\0`, "utf16le").toString("latin1");
    // The tags of comment and keywords; as texts of bytes, which are the same bytes.
    const exif = exifWith(null, { texts: { 0x9c_9c: wide("plain letters"), 0x9c_9e: wide("boats;fog") } });
    expect(await describedAs(jpegWithExif(exif))).toContain("boats, fog");
    expect(await describedAs(jpegWithExif(exif))).toContain("plain letters");
    const texts = {
      Title: "Brest",
      Description: "A harbour",
      Software: "GIMP",
      Comment: "Created with GIMP",
    };
    expect(await describedAs(pngWithTexts(texts))).toBe("Brest\nA harbour");
    expect(await describedAs(pngWithLongText("Description", "Ein Café 東京", true))).toBe("Ein Café 東京");
  });

  test("words for people who do not see it, headlines and paths of keywords, in elements of any form and as attributes", async () => {
    const jpegWith = (inside: string) => picture().jpeg().withXmp(xmpWith(inside)).toBuffer();
    const written: readonly (readonly [string, string])[] = [
      [inLanguage("Iptc4xmpCore:AltTextAccessibility", "A fox in snow"), "A fox in snow"],
      [inLanguage("Iptc4xmpCore:ExtDescrAccessibility", "A fox in snow"), "A fox in snow"],
      ["<photoshop:Headline>A fox in snow</photoshop:Headline>", "A fox in snow"],
      ['<dc:description xml:lang="en">A fox in snow</dc:description>', "A fox in snow"],
      ["<dc:description >A fox in snow</dc:description >", "A fox in snow"],
      [
        inLanguage("dc:description", "") + inLanguage("tiff:ImageDescription", "A fox in snow"),
        "A fox in snow",
      ],
      ['<rdf:Description acdsee:caption="A fox &amp; snow"/>', "A fox & snow"],
      ["<rdf:Description dc:title='Fox' dc:description='A fox in snow'/>", "Fox\nA fox in snow"],
      [
        `<rdf:Description xmlns:other="http://purl.org/dc/elements/1.1/">${inLanguage("other:description", "A fox in snow")}`,
        "A fox in snow",
      ],
      [
        "<digiKam:TagsList><rdf:Seq><rdf:li>Animals/Fox</rdf:li><rdf:li>Places/Alps</rdf:li></rdf:Seq></digiKam:TagsList>",
        "Animals, Fox, Places, Alps",
      ],
      [
        "<dc:subject><rdf:Seq><rdf:li>darktable|format|jpg</rdf:li><rdf:li>darktable</rdf:li><rdf:li>exported</rdf:li><rdf:li>Fox</rdf:li></rdf:Seq></dc:subject>",
        "Fox",
      ],
      [
        "<dc:descriptions>no</dc:descriptions><dc:description>A fox in snow</dc:description>",
        "A fox in snow",
      ],
      ["<dc:description><rdf:Alt>", ""],
      ['<rdf:Description dc:description="', ""],
    ];
    const wrong: string[] = [];
    for (const [inside, wanted] of written) {
      const found = await describedAs(jpegWith(inside));
      if (found !== wanted) wrong.push(`${inside}: ${found}`);
    }
    expect(wrong).toEqual([]);
  });

  test("blocks that ImageMagick and Exiv2 write into a PNG as texts", async () => {
    const profile = (name: string, data: Buffer) =>
      pngWithTexts({
        [`Raw profile type ${name}`]: `\n${name}\n${String(data.length).padStart(8)}\n${data.toString("hex").replaceAll(/.{72}/g, "$&\n")}\n`,
      });
    const exif = Buffer.concat([
      Buffer.from("Exif\0\0"),
      exifWith(null, { texts: { [0x01_0e]: "A fox in snow" } }),
    ]);
    const set = dataset(2, 120, Buffer.from("A fox in snow"));
    const iptc = Buffer.concat([Buffer.from("8BIM\u0004\u0004\0\0\0\0", "latin1"), u16(set.length), set]);
    const packet = Buffer.from(xmpWith(inLanguage("dc:description", "A fox in snow")));
    for (const [name, data] of [
      ["exif", exif],
      ["APP1", exif],
      ["iptc", iptc],
      ["xmp", packet],
      ["APP1", packet],
    ] as const)
      expect([name, await describedAs(profile(name, data))]).toEqual([name, "A fox in snow"]);
    expect(await describedAs(profile("exif", Buffer.from("rubbish")))).toBe("");
  });

  test("words in an older encoding of their country, or in UTF-8 twice, are read as they were written", async () => {
    const inIptc = (bytes: Buffer) => describedAs(jpegWithIptc(dataset(2, 120, bytes)));
    const bytes = (hex: string) => Buffer.from(hex, "hex");
    const twice = Buffer.from(Buffer.from("Лисица в снегу").toString("latin1"));
    expect(await inIptc(bytes("cbe8f1e8f6e020e220f1ede5e3f3"))).toBe("Лисица в снегу");
    expect(await inIptc(bytes("bafcc0ead4dad1a9d6d0"))).toBe("狐狸在雪中");
    expect(await inIptc(bytes("90e182cc928682cc8ccf"))).toBe("雪の中の狐");
    expect(await inIptc(twice)).toBe("Лисица в снегу");
    for (const plain of ["Müder Fuchs im Schnee", "Été à l'Île d'Yeu", "Über Öl für Äpfel", "Żółć"])
      expect(await inIptc(Buffer.from(plain))).toBe(plain);
    expect(await inIptc(Buffer.from("Été à Évian", "latin1"))).toBe("Été à Évian");
    for (const signs of ["½¼¾½¼¾½¼", "°°±±°°±±"]) expect(await inIptc(Buffer.from(signs))).toBe("");
  });

  test("what programs write about themselves is no description, so that a model may write one", async () => {
    const own = [
      "Adobe Photoshop 26.0",
      "Picasa",
      "© 2026 Jane Doe",
      "Photo by Jane Doe on Unsplash",
      "Shot on iPhone",
      "Unknown",
      "Optimized by JPEGmini 3.14",
      "CREATOR: gd-jpeg v1.0 (using IJG JPEG v62)",
      "Screenshot 2026-01-02",
      "Made with Midjourney",
      "ChatGPT Image",
    ];
    const kept = ["Shot on a rainy day", "Made with love", "Test drive in the rain", "Photo by the sea"];
    const found = await Promise.all(
      [...own, ...kept].map((text) =>
        describedAs(jpegWithExif(exifWith(null, { texts: { [0x01_0e]: text } }))),
      ),
    );
    expect(found.filter((text) => text !== "")).toEqual(kept);
  });

  test("a title that the file's name says, and what stands in several places, is there once", async () => {
    const twice = xmpWith(
      inLanguage("dc:title", "IMG_0001") + inLanguage("dc:description", "A harbour, boats"),
    );
    expect(await describedAs(picture().withXmp(twice).jpeg().toBuffer())).toBe("A harbour, boats");
    const same = xmpWith(
      `${inLanguage("dc:title", "Boats")}<dc:subject><rdf:Bag><rdf:li>boats</rdf:li></rdf:Bag></dc:subject>`,
    );
    expect(await describedAs(picture().withXmp(same).jpeg().toBuffer())).toBe("Boats");
  });

  test.each([
    "OLYMPUS DIGITAL CAMERA         ",
    "SONY DSC",
    "DCIM\\100MEDIA\\DJI_0042.JPG",
    "SAMSUNG CAMERA PICTURES",
    "KONICA MINOLTA DIGITAL CAMERA",
    "<Digimax S500 / Kenox S500 / Digimax Cyber 530>",
    "Exif_JPEG_PICTURE",
    "cof",
    "ozhdr",
    "dav_vivid",
    "default",
    "IMG_20190807.jpg",
    "Created with GIMP",
    '{"shape": [64, 64]}',
    "20190807",
    'Workflow: {"nodes": []}',
  ])("what a camera or a program writes into every picture is no description: %s", async (text) => {
    expect(await describedAs(jpegWithExif(exifWith(null, { texts: { 0x01_0e: text } })))).toBe("");
  });

  test.each(["Dave", "Hdr of the harbour", "A camera", "Café", "[1] first of three", "Made by hand"])(
    "words that are like those stay: %s",
    async (text) => {
      expect(await describedAs(jpegWithExif(exifWith(null, { texts: { 0x01_0e: text } })))).toBe(text);
    },
  );
});

describe("what programs of this field wrote", () => {
  const a1111 = "a red fox, in snow,\nsoft light";

  test("the prompt of A1111, ComfyUI, InvokeAI and SwarmUI, and nothing else of it", async () => {
    expect(await describedAs(pngWithTexts({ parameters: carriedExamples.a1111 }))).toBe(a1111);
    expect(await describedAs(jpegWithExif(exifWith(carriedExamples.a1111)))).toBe(a1111);
    expect(await describedAs(webpWithExif(exifWith(carriedExamples.a1111)))).toBe(a1111);
    expect(await describedAs(pngWithTexts({ prompt: carriedExamples.comfyui }))).toBe("a red fox in snow");
    expect(await describedAs(pngWithTexts({ invokeai_metadata: carriedExamples.invokeai }))).toBe(
      "a red fox in snow",
    );
    expect(await describedAs(pngWithTexts({ parameters: carriedExamples.swarmui }))).toBe(
      "a red fox in snow",
    );
  });

  test("the prompt of Midjourney without its options, that of Draw Things without what it avoids, and of ComfyUI's nodes of services", async () => {
    const midjourney = "a red fox in snow --ar 2:3 --v 6.1 Job ID: 0f1e2d3c-aaaa-bbbb-cccc-1234567890ab";
    expect(await describedAs(pngWithTexts({ Description: midjourney }))).toBe("a red fox in snow");
    const drawThings =
      "a red fox in snow\n-blurry, text\nSteps: 28, Sampler: DPM++ 2M Karras, Guidance Scale: 6.5, Seed: 1, Size: 64x64, Model: x.ckpt, Strength: 1.0";
    const packet = xmpWith(inLanguage("dc:description", drawThings));
    expect(await describedAs(picture().jpeg().withXmp(packet).toBuffer())).toBe("a red fox in snow");
    const listed = "a fox\n- red\n- in snow\nSteps: 20, Sampler: Euler, CFG scale: 7, Seed: 1, Size: 64x64";
    expect(await describedAs(pngWithTexts({ parameters: listed }))).toMatch(/in snow$/);
    const save = { class_type: "SaveImage", inputs: { images: ["1", 0] } };
    const graphs = [
      { 1: { class_type: "OpenAIGPTImage1", inputs: { prompt: "a red fox in snow", seed: 5 } }, 2: save },
      {
        1: { class_type: "FluxProUltraImageNode", inputs: { prompt: ["3", 0], seed: 0 } },
        3: { class_type: "PrimitiveStringMultiline", inputs: { value: "a red fox in snow" } },
        2: save,
      },
      // A text that leads nowhere stands first, links go in a circle, and to a node that is not there.
      {
        0: { class_type: "PrimitiveStringMultiline", inputs: { value: "remember to buy more credits" } },
        1: { class_type: "FluxProUltraImageNode", inputs: { prompt: ["3", 0], a: ["1", 0], b: ["9", 0] } },
        3: { class_type: "StringTrim", inputs: { string: ["4", 0] } },
        4: { class_type: "PrimitiveStringMultiline", inputs: { value: "a red fox in snow" } },
        2: save,
      },
      { 1: { class_type: "OpenAIGPTImage1", inputs: { prompt: "a red fox in snow" } } },
    ];
    for (const graph of graphs)
      expect(await describedAs(pngWithTexts({ prompt: JSON.stringify(graph) }))).toBe("a red fox in snow");
    for (const odd of ["{", "[]", "null", '{"1":null}', '{"1":{"inputs":[5]}}'])
      expect(await describedAs(pngWithTexts({ prompt: odd }))).toBe("");
  });

  test("also where it stands as a caption, and in the camera data of an AVIF", async () => {
    const caption = xmpWith(inLanguage("dc:description", carriedExamples.a1111.replaceAll("<", "&lt;")));
    expect(await describedAs(picture().withXmp(caption).webp().toBuffer())).toBe(a1111);
    const exif = { IFD0: { ImageDescription: carriedExamples.a1111 } };
    expect(await describedAs(picture().withExif(exif).avif().toBuffer())).toBe(a1111);
  });

  test("a caption stands before the prompt, which is cut", async () => {
    const texts = {
      Description: "My fox",
      parameters: `${"fox ".repeat(900)}\nSteps: 20, Sampler: Euler, Seed: 1`,
    };
    const found = await describedAs(pngWithTexts(texts));
    expect(found.startsWith("My fox\nfox fox")).toBe(true);
    expect(found.length).toBeLessThanOrEqual(2_000);
  });
});

describe("files that are made to harm", () => {
  test("a mask has no description, and a file without words has none", async () => {
    const bytes = await picture().withXmp(harbour).png().toBuffer();
    expect(await wordsOf(bytes, { name: "m.png", role: "mask" })).toEqual({ title: "m" });
    expect(await wordsOf(await picture().png().toBuffer(), { role: "upload" })).toEqual({ title: "" });
  });

  test("no entity of a file is followed, and no markup, NUL or half of a character is kept", async () => {
    const xmp = xmpWith(
      inLanguage("dc:description", "a&lol9;b &#0;&#xD800;&#x110000;&#99999999; <x y='>'>c</x>"),
    ).replace("<x:xmpmeta", '<!DOCTYPE x [<!ENTITY lol9 "lol">]><x:xmpmeta');
    const found = await describedAs(picture().withXmp(xmp).jpeg().toBuffer());
    expect(found).toMatch(/^a&lol9;b/);
    expect(found.isWellFormed() && !found.includes("\0") && !found.includes("<")).toBe(true);
  });

  test("a file that is cut or changed at any place has a description or none, and never fails", async () => {
    const files = [
      await picture()
        .withXmp(harbour)
        .withExif({ IFD0: { ImageDescription: "x" } })
        .avif()
        .toBuffer(),
      await picture().withXmp(harbour).tiff().toBuffer(),
      await gifWithXmp(harbour),
      await jpegWithIptc(dataset(2, 120, Buffer.from("Café")), dataset(2, 25, Buffer.from("a"))),
    ];
    for (const file of files)
      for (let at = 0; at < file.length; at += 3) {
        const changed = Buffer.from(file);
        changed[at] = (changed[at] ?? 0) ^ 0xff;
        for (const bytes of [file.subarray(0, at), changed])
          expect(await describedAs(bytes)).toSatisfy((text: string) => text.length <= 2_000);
      }
  });

  const deep = "[".repeat(1_000_000);
  const bomb = deflateSync(Buffer.alloc(40_000_000));
  const many = (part: string, bytes = 900_000) => part.repeat(Math.floor(bytes / part.length));
  test.each<readonly [string, () => Promise<Buffer>]>([
    [
      "items without an end",
      () =>
        picture()
          .withXmp(xmpWith(`<dc:description>${many("<rdf:li>")}</dc:description>`))
          .png()
          .toBuffer(),
    ],
    [
      "items",
      () =>
        picture()
          .withXmp(xmpWith(`<dc:subject>${many("<rdf:li>a</rdf:li>")}</dc:subject>`))
          .png()
          .toBuffer(),
    ],
    [
      "starts of tags",
      () =>
        picture()
          .withXmp(xmpWith(inLanguage("dc:description", many("<"))))
          .png()
          .toBuffer(),
    ],
    [
      "nested elements",
      () =>
        picture()
          .withXmp(xmpWith(many("<dc:description>")))
          .png()
          .toBuffer(),
    ],
    ["name spaces", () => picture().withXmp(many("xmlns:a ")).png().toBuffer()],
    ["deep JSON", () => pngWithTexts({ Description: deep, prompt: `{"a":${deep}`, Title: `{${deep}` })],
    ["a caption that is like settings", () => pngWithTexts({ Description: many("Steps: 1, ") })],
    ["a caption of letters", () => pngWithTexts({ Description: many("a ") })],
    ["a text that inflates without end", () => pngWithPacked("Description", bomb)],
    [
      "orders without an end",
      () => pngWithTexts({ Description: `fox${" --a".repeat(60)} Job ID: x`, Title: many(" --a 1") }),
    ],
    ["spaces before no order", () => pngWithTexts({ Description: `fox${" ".repeat(90_000)}x` })],
    [
      "a block of lines",
      () => pngWithPacked("Raw profile type exif", deflateSync(Buffer.alloc(300_000, 10))),
    ],
  ])("%s cost less than two seconds", async (_name, make) => {
    const bytes = await make();
    const from = process.cpuUsage();
    expect((await describedAs(bytes)).length).toBeLessThanOrEqual(2_000);
    const { user, system } = process.cpuUsage(from);
    expect((user + system) / 1_000).toBeLessThan(2_000);
  });

  test("texts that inflate without end cost no more when there are thousands of them", async () => {
    const one = await pngWithPacked("Description", deflateSync(Buffer.alloc(3_000_000)));
    const chunk = one.subarray(33, one.indexOf("IDAT") - 4);
    const png = Buffer.concat([
      one.subarray(0, 33),
      ...Array.from({ length: 3_000 }, () => chunk),
      one.subarray(33),
    ]);
    const from = process.cpuUsage();
    expect(await describedAs(png)).toBe("");
    const { user, system } = process.cpuUsage(from);
    expect((user + system) / 1_000).toBeLessThan(2_000);
  });

  test("the first four titles and captions are looked at, and no more", async () => {
    const box = (at: number) => ({ [0x9c_9c]: Buffer.from(`words ${at}`, "utf16le").toString("latin1") });
    expect(await describedAs(jpegWithExif(exifWith(null, { texts: box(1) })))).toBe("words 1");
    const machines = ["default", "untitled", "image", "picture"].map((text) =>
      dataset(2, 120, Buffer.from(text)),
    );
    const own = dataset(2, 120, Buffer.from("A harbour"));
    expect(await describedAs(jpegWithIptc(...machines.slice(0, 3), own))).toBe("A harbour");
    expect(await describedAs(jpegWithIptc(...machines, own))).toBe("");
  });

  test("of all texts together a bounded part is looked at, small texts before large ones", async () => {
    const record = (size: number) => `{"a":"${"x".repeat(size)}",${carriedExamples.invokeai.slice(1)}`;
    const large = { a: "b".repeat(300_000), b: "c".repeat(400_000) };
    const found = (size: number, others = {}) =>
      pngWithTexts({ ...others, invokeai_metadata: record(size) }).then(describedAs);
    expect(await found(100_000, large)).toBe("a red fox in snow");
    expect(await found(600_000)).toBe("");
    const words = { Title: "Brest", Description: `A harbour ${"y".repeat(900_000)}` };
    expect(await describedAs(pngWithTexts(words))).toMatch(/^Brest\nA harbour/);
  });

  const bags = (part: string) => (count: number) =>
    pngWithLongText(
      "XML:com.adobe.xmp",
      xmpWith(`<dc:subject>${part.repeat(count)}<rdf:li>a</rdf:li></dc:subject>`),
      false,
    );
  test.each<readonly [string, number, (count: number) => Promise<Buffer> | Buffer]>([
    ["items without words", 10_000, bags("<rdf:li/>")],
    ["items without an end", 10_000, bags("<rdf:li>")],
    ["pieces of camera data", 4_000, heicInPieces],
  ])("four times as many %s cost less than eight times as much", async (_name, count, make) => {
    expect(await growthOf(count, make, describedAs)).toBeLessThan(8);
  });
});

/** A HEIC whose camera data are so many pieces of one byte. */
function heicInPieces(count: number): Buffer {
  const box = (type: string, ...parts: readonly Buffer[]) => {
    const whole = Buffer.concat([u16(0), u16(0), Buffer.from(type), ...parts]);
    whole.writeUInt32BE(whole.length);
    return whole;
  };
  const entry = box("infe", u16(0x02_00), u16(0), u16(1), u16(0), Buffer.from("Exif\0"));
  const items = box("iinf", u16(0), u16(0), u16(1), entry);
  const piece = Buffer.concat([u16(0), u16(0), u16(0), u16(1)]);
  const head = [u16(0), u16(0), u16(0x44_00), u16(1), u16(1), u16(0), u16(count)];
  const places = box("iloc", ...head, ...Array.from({ length: count }, () => piece));
  return Buffer.concat([
    box("ftyp", Buffer.from("heic\0\0\0\0mif1heic")),
    box("meta", u16(0), u16(0), items, places),
  ]);
}
