/** Makes the icons of the studio on a home screen from `app/icon.svg`, after a change of it: CONTRIBUTING.md. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import sharp from "sharp";

const rootDir = path.resolve(import.meta.dirname, "..");
const source = await readFile(path.join(rootDir, "app/icon.svg"), "utf8");
/** Systems cut these to their own shape; the letter stays within the four fifths of it that none cuts. */
const filled = source.replace(/ rx="\d+"/, "");

const icons = [
  { file: "public/icons/192.png", svg: source, sizePx: 192 },
  { file: "public/icons/512.png", svg: source, sizePx: 512 },
  { file: "public/icons/512-filled.png", svg: filled, sizePx: 512 },
  { file: "app/apple-icon.png", svg: filled, sizePx: 180 },
];

/** Of the drawing: `viewBox` is 32 wide at 72 dots an inch. */
const drawnPx = 32;

for (const { file, svg, sizePx } of icons)
  await sharp(Buffer.from(svg), { density: (72 * sizePx) / drawnPx })
    .resize(sizePx)
    .png({ palette: true, effort: 10 })
    .toFile(path.join(rootDir, file));
