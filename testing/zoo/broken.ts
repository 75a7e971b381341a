import { gzipSync } from "node:zlib";
import sharp from "sharp";
import { pngChunk, withJpegSegment, withPngChunk } from "../pictures/index.ts";
import {
  byDecoder,
  byHeader,
  type Outcome,
  smallPicture,
  type ZooEntry,
  type ZooFormat,
  zooFormats,
} from "./entry.ts";

const payloads: Readonly<Record<string, string>> = {
  "a page": "<!DOCTYPE html><html><body>x</body></html>",
  "a script": "\n<script>alert(1)</script>",
  "a frame": '<iframe src="https://example.test/">',
  "a PHP script": "<?php system($_GET[0]); ?>",
  "an SVG": '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
  "a PDF": "%PDF-1.7\n1 0 obj\n<<>>\nendobj\n",
  "a ZIP": `PK\x03\x04not reallyPK\x05\x06${"\0".repeat(18)}`,
};

/** Taken: only the pixels are kept, so what else the file is does not matter. */
const polyglotOutcome = (format: ZooFormat): Outcome => ({ takenAs: format === "avif" ? "heavy" : "light" });
const latin1 = (text: string) => Buffer.from(text, "latin1");

const behind = zooFormats.flatMap((format) =>
  Object.entries(payloads).map(([what, payload]) => ({
    name: `a ${format} with ${what} behind it`,
    outcome: polyglotOutcome(format),
    make: async () => Buffer.concat([await smallPicture(format), latin1(payload)]),
  })),
);

const inside = Object.entries(payloads)
  .filter(([what]) => what !== "a ZIP")
  .flatMap(([what, payload]) => [
    {
      name: `a jpeg with ${what} in a comment`,
      outcome: polyglotOutcome("jpeg"),
      make: async () => withJpegSegment(await smallPicture("jpeg"), 0xfe, latin1(payload)),
    },
    {
      name: `a png with ${what} in a text`,
      outcome: polyglotOutcome("png"),
      make: async () =>
        withPngChunk(await smallPicture("png"), pngChunk("tEXt", latin1(`Comment\0${payload}`))),
    },
  ]);

/** Pictures that another program reads as something else. */
export const polyglots: readonly ZooEntry[] = [...behind, ...inside];

const percents = [35, 60, 85];

/** A cut JPEG or PNG is decoded, to see how much is missing. */
const cutOutcome = (format: ZooFormat) =>
  format === "jpeg" || format === "png" ? byDecoder("upload_unreadable") : byHeader("upload_unreadable");

/** Cut files; less than a third may not be enough to tell the format. */
const cut: readonly ZooEntry[] = zooFormats.flatMap((format) =>
  percents.map((percent) => ({
    name: `the first ${percent} % of a ${format}`,
    // So small a picture has two rows of blocks: no row of pixels is missing as a whole.
    outcome: format === "jpeg" && percent === 85 ? { either: true } : cutOutcome(format),
    async make() {
      const bytes = await smallPicture(format);
      return bytes.subarray(0, Math.floor((bytes.length * percent) / 100));
    },
  })),
);

/** One changed byte, at places from the start to the end. */
const changed: readonly ZooEntry[] = zooFormats.flatMap((format) =>
  [5, 30, 55, 80, 97].map((percent) => ({
    name: `a ${format} with another byte at ${percent} %`,
    outcome: { either: true },
    async make() {
      const bytes = await smallPicture(format);
      const at = Math.floor((bytes.length * percent) / 100);
      bytes.writeUInt8(bytes.readUInt8(at) ^ 0xff, at);
      return bytes;
    },
  })),
);

export const damaged: readonly ZooEntry[] = [...cut, ...changed];

const svg = (body: string, head = "") =>
  `${head}<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">${body}</svg>`;

const entities = Array.from({ length: 9 }, (_none, at) => {
  const inner = `&e${at};`.repeat(10);
  return `<!ENTITY e${at + 1} "${inner}">`;
});

const texts: Readonly<Record<string, string>> = {
  "an SVG": svg(""),
  "an SVG that reads a file": svg(
    "<text>&file;</text>",
    '<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY file SYSTEM "file:///etc/passwd">]>',
  ),
  "an SVG whose entities grow to a billion": svg(
    "<text>&e9;</text>",
    `<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY e0 "x">${entities.join("")}]>`,
  ),
  "an SVG that loads a picture": svg('<image href="http://127.0.0.1/x.png"/>'),
  "a page": "<!DOCTYPE html><html></html>",
  "a PDF": "%PDF-1.7\n",
  "a PostScript file": "%!PS-Adobe-3.0 EPSF-3.0\n",
  "a list of commands for a picture program": "push graphic-context\nfill 'url(https://x/\"|id\")'\n",
  "a portable bitmap": "P6 60000 60000 255\n",
  "a program": `\x7fELF\x02\x01\x01${"\0".repeat(60)}`,
  "a ZIP": `PK\x03\x04${"\0".repeat(60)}`,
  "a film": `\0\0\0\x18ftypmp42\0\0\0\0mp42isom${"\0".repeat(40)}`,
  "a HEIC without a picture": `\0\0\0\x18ftypheic\0\0\0\0mif1heic${"\0".repeat(40)}`,
  "a JPEG XL": `\0\0\0\x0cJXL \r\n\x87\n${"\0".repeat(40)}`,
  "a JPEG 2000": `\0\0\0\x0cjP  \r\n\x87\n${"\0".repeat(40)}`,
  "a Photoshop file": `8BPS\0\x01${"\0".repeat(60)}`,
  "an icon": `\0\0\x01\0\x01\0${"\0".repeat(60)}`,
  "a bitmap": `BM${"\0".repeat(60)}`,
  "a Radiance picture": "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 60000 +X 60000\n",
  zeros: "\0".repeat(4_096),
};

const outcome = byHeader("upload_unsupported");

const written: readonly ZooEntry[] = Object.entries(texts).map(([name, text]) => ({
  name: `${name} under the name of a picture`,
  outcome: name.startsWith("a HEIC") ? byHeader("upload_unreadable") : outcome,
  make: () => Buffer.from(text, "latin1"),
}));

async function gifOf(frames: number): Promise<Buffer> {
  const pixels = Buffer.alloc(8 * 8 * frames * 3).map((_zero, at) => (at >> 6) & 0xff);
  return sharp(pixels, { raw: { width: 8, height: 8 * frames, channels: 3, pageHeight: 8 } })
    .gif({ effort: 1 })
    .toBuffer();
}

/** Files that are no picture of a format that is taken. */
export const otherFormats: readonly ZooEntry[] = [
  ...written,
  { name: "a compressed SVG", outcome, make: () => gzipSync(svg("")) },
  { name: "a GIF of 300 frames", outcome: { takenAs: "heavy" }, make: () => gifOf(300) },
];
