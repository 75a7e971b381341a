import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { inflateSync } from "node:zlib";
import sharp from "sharp";
import { newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { tempRoot } from "../storage/index.ts";

// A path and not module names: a bundler would pack the files into the server.
const packaged = path.join(
  path.dirname(fileURLToPath(import.meta.url)),
  "../node_modules/@fontsource/noto-sans/files",
);
const scripts = ["latin", "latin-ext", "cyrillic", "cyrillic-ext", "greek", "vietnamese"] as const;
const family = "Noto Sans";

/** What the fonts above have no shape for would be an empty box. */
const unknown = /[^\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Nd}\p{P}\p{Sc}\p{Sm}\p{Zs}\p{M}]+/gu;

/** A text that a sheet can show, in one line; empty where nothing of it is left. */
export function writable(text: string): string {
  return text.replaceAll(/\s+/gu, " ").replaceAll(unknown, "").trim();
}

/** The fonts as files that the drawing library takes, unpacked into the data folder where they are not, as after a full disk. */
async function fontsOf({ env }: Pick<Services, "env">): Promise<readonly string[]> {
  const folder = path.join(tempRoot(env), "fonts");
  await mkdir(folder, { recursive: true });
  return Promise.all(
    scripts.map(async (script) => {
      const file = path.join(folder, `noto-sans-5.3.0-${script}.ttf`);
      if (await stat(file).catch(() => null)) return file;
      const packed = await readFile(path.join(packaged, `noto-sans-${script}-400-normal.woff`));
      // Renamed when it is whole: another process may unpack the same.
      const part = `${file}.${newId()}`;
      try {
        await writeFile(part, unpackWoff(packed));
        await rename(part, file);
      } finally {
        await rm(part, { force: true });
      }
      return file;
    }),
  );
}

const woffHeader = 44;
const woffEntry = 20;
const ttfHeader = 12;
const ttfEntry = 16;

/** A font of the web (WOFF 1.0) as the plain font that it was made of: the same tables, each inflated. */
function unpackWoff(woff: Buffer): Buffer {
  const count = woff.readUInt16BE(12);
  const tables = Array.from({ length: count }, (_, at) => {
    const entry = woff.subarray(woffHeader + woffEntry * at);
    const packed = woff.subarray(entry.readUInt32BE(4), entry.readUInt32BE(4) + entry.readUInt32BE(8));
    const bytes = packed.length < entry.readUInt32BE(12) ? inflateSync(packed) : packed;
    return { tag: entry.readUInt32BE(0), sum: entry.readUInt32BE(16), bytes };
  });
  const head = Buffer.alloc(ttfHeader + ttfEntry * count);
  const log2 = Math.floor(Math.log2(count));
  head.writeUInt32BE(woff.readUInt32BE(4), 0);
  for (const [at, value] of [count, 2 ** log2 * ttfEntry, log2, (count - 2 ** log2) * ttfEntry].entries())
    head.writeUInt16BE(value, 4 + 2 * at);
  const parts: Buffer[] = [head];
  let offset = head.length;
  for (const [at, { tag, sum, bytes }] of tables.entries()) {
    for (const [word, value] of [tag, sum, offset, bytes.length].entries())
      head.writeUInt32BE(value, ttfHeader + ttfEntry * at + 4 * word);
    const padding = Buffer.alloc(-bytes.length & 3);
    parts.push(bytes, padding);
    offset += bytes.length + padding.length;
  }
  return Buffer.concat(parts);
}

export interface Box {
  readonly widthPx: number;
  readonly heightPx: number;
}

const fontSizePt = 10;
const dpi = 96;
/** Below the narrowest letter of the fonts, and below the height of their lines. */
const letterPx = 2.5;
const linePx = 16;

/** No letter of the scripts above has more. */
const mostMarks = 4;
const longRuns = new RegExp(`(\\p{M}{${mostMarks}})\\p{M}+`, "gu");

/** As much of a text as a box can show at most: the drawing library lays out all that it gets, in quadratic time. */
function shownIn(text: string, { widthPx, heightPx }: Box): string {
  const letters = Math.ceil(widthPx / letterPx) * Math.ceil(heightPx / linePx);
  const start = text.slice(0, 2 * (1 + mostMarks) * letters).toWellFormed();
  return Array.from(start.replaceAll(longRuns, "$1").matchAll(/\P{M}\p{M}*|^\p{M}+/gu), ([letter]) => letter)
    .slice(0, letters)
    .join("");
}

/** Draws texts in boxes; what does not fit is cut off. No font of the machine is needed. */
export async function openLabels(services: Pick<Services, "env">) {
  const fonts = await fontsOf(services);
  const draw = (text: string, { widthPx, heightPx }: Box, fontfile: string) =>
    sharp({
      text: {
        text: escapeMarkup(text),
        font: `${family} ${fontSizePt}`,
        fontfile,
        width: widthPx,
        dpi,
        rgba: true,
        wrap: "word-char",
      },
    })
      .png()
      .toBuffer({ resolveWithObject: true })
      .then(({ data, info }) =>
        info.width <= widthPx && info.height <= heightPx
          ? data
          : sharp(data)
              .extract({
                left: 0,
                top: 0,
                width: Math.min(info.width, widthPx),
                height: Math.min(info.height, heightPx),
              })
              .png()
              .toBuffer(),
      );
  // A process knows a font from its first use on, and takes a letter from whichever has it.
  for (const font of fonts) await draw(".", { widthPx: 8, heightPx: 8 }, font);
  return (text: string, box: Box) => draw(shownIn(text, box), box, fonts[0] ?? "");
}

const escapeMarkup = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
