import type { DescribedBy } from "../db/index.ts";
import {
  type CarriedText,
  findSettings,
  hasSettingsLine,
  isXmp,
  readCarriedTexts,
  type SideBlock,
  textsOfBlocks,
} from "../carried/index.ts";
import { parseForeignJson } from "../platform/index.ts";
import { isHeif, sideBlocksOfHeif } from "./formats/heif.ts";
import { sideBlocksOfGif } from "./formats/simple.ts";
import type { IngestInput } from "./image.ts";
import { uploadLimits } from "./limits.ts";
import { takenAt } from "./taken.ts";
import { cleanDescription, titleOfFile } from "./title.ts";
import { readXmp } from "./xmp.ts";

/** Columns of the row of an upload. */
export interface Words {
  readonly title: string;
  readonly description?: string;
  readonly describedBy?: DescribedBy;
  /** When the photo was taken. */
  readonly createdAt?: Date;
}

/**
 * The words for an upload. Its description is what the file says of its picture: title, caption and keywords (XMP, IPTC, camera
 * data, texts of a PNG), and the prompt that a program of this field left in it. A mask has none, and no time.
 */
export async function wordsOf(
  bytes: Buffer,
  { name, role, timezone }: Pick<IngestInput, "name" | "role" | "timezone">,
): Promise<Words> {
  const title = titleOfFile(name ?? "");
  if (role === "mask") return { title };
  try {
    const texts = lookedAt(await textsOf(bytes));
    const description = cleanDescription(partsOf(texts, title).join("\n"));
    const createdAt = takenAt(texts, timezone);
    return {
      title,
      ...(description !== "" && { description, describedBy: "file" }),
      ...(createdAt && { createdAt }),
    };
  } catch {
    // Anybody may have made the file, and its words are no condition of taking its picture.
    return { title };
  }
}

async function textsOf(bytes: Buffer): Promise<readonly CarriedText[]> {
  if (isHeif(bytes)) return textsOfBlocks(sideBlocksOfHeif(bytes));
  if (bytes.toString("latin1", 0, 4) === "GIF8") return textsOfBlocks(sideBlocksOfGif(bytes));
  const texts = await readCarriedTexts(bytes);
  return [...texts, ...textsOfBlocks(texts.flatMap(blockIn))].map((one) => ({
    ...one,
    text: recoded(one.text),
  }));
}

const rawProfile = /^raw profile type (?:(exif|app1)|(iptc|8bim)|xmp)$/i;

/** ImageMagick and Exiv2 write the blocks of a JPEG into a PNG as texts: name, size, then the bytes in hexadecimal. */
function blockIn({ name, text }: CarriedText): SideBlock[] {
  const [whole, exif, iptc] = rawProfile.exec(name) ?? [];
  if (whole === undefined) return [];
  const hex = text
    .slice(0, mostOfAllCharacters)
    .trimStart()
    .replace(/^[^\n]{0,80}\n[ \t]*\d{1,9}\s/, "")
    .replaceAll(/\s/g, "");
  const data = Buffer.from(hex, "hex");
  const isXmp = data.toString("latin1", 0, 5) === "http:" || data.toString("latin1", 0, 1) === "<";
  return [{ kind: iptc ? "iptc" : exif && !isXmp ? "exif" : "xmp", data }];
}

/** The letters of `latin1`, as the standard of browsers reads its bytes, with their bytes. */
const latinBytes = new Map([
  ...Array.from({ length: 32 }, (_none, at) => [String.fromCharCode(128 + at), 128 + at] as const),
  ...Array.from(
    new TextDecoder("latin1").decode(Uint8Array.from({ length: 256 }, (_none, at) => at)),
    (one, at) => [one, at] as const,
  ),
]);
const leastForeign = 6;
const mostPlain = 0.2;
/** Languages whose texts in older encodings are told by how their words look. */
const olderEncodings = [
  { encoding: "windows-1251", looks: /^(?:[А-ЯЁ]?[а-яё]+|[А-ЯЁ]+|[^\p{L}]+|[a-z]+)$/u },
  { encoding: "shift_jis", looks: /[\u3041-\u30FF]/u },
  { encoding: "gb18030", looks: /^(?:[\p{Script=Han}\p{P}]+|\P{Script=Han}+)$/u },
] as const;

/**
 * A text whose letters are those of Western Europe although hardly one of them is plain was written in another encoding: in
 * UTF-8 twice, or in an older one of its country, which neither camera data nor IPTC name.
 */
function recoded(text: string): string {
  // Signs alone, such as fractions, are what they are.
  if (!/[\u00C0-\u00FF]/.test(text.slice(0, mostCharacters))) return text;
  const foreign = text.slice(0, mostCharacters).match(/[\u0080-\u00FF\u0152-\u2122]/g)?.length ?? 0;
  const plain = text.slice(0, mostCharacters).match(/[A-Za-z]/g)?.length ?? 0;
  if (foreign < leastForeign || plain > foreign * mostPlain || text.length > mostCharacters) return text;
  const bytes = Array.from(text, (letter) => latinBytes.get(letter));
  if (!bytes.every((byte) => byte !== undefined)) return text;
  const data = Uint8Array.from(bytes);
  const inUtf8 = decoded(data, "utf-8");
  if (inUtf8 !== null) return inUtf8;
  const found = olderEncodings.map(({ encoding, looks }) => {
    const other = decoded(data, encoding);
    return other !== null && other.split(/[\s\p{P}]+/u).every((word) => word === "" || looks.test(word))
      ? other
      : null;
  });
  return found.find((one) => one !== null) ?? text;
}

function decoded(data: Uint8Array, encoding: string): string | null {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(data);
  } catch {
    return null;
  }
}

/**
 * Of all texts of a file together no more is looked at, so that its words cost no more than the decoding of a small picture. The
 * smallest come first: one large text takes no room from the others.
 */
const mostOfAllCharacters = 512 * 1_024;

/** In the order of the file. */
function lookedAt(texts: readonly CarriedText[]): readonly CarriedText[] {
  let left = mostOfAllCharacters;
  const most = new Map<CarriedText, number>();
  for (const one of texts.toSorted((a, b) => a.text.length - b.text.length)) {
    most.set(one, left);
    left -= Math.min(one.text.length, left);
  }
  return texts.map((one) => ({ name: one.name, text: one.text.slice(0, most.get(one)) }));
}

/** Each part once, the words of a person first: a long prompt is cut. */
function partsOf(texts: readonly CarriedText[], fileTitle: string): string[] {
  const xmp = texts.filter(isXmp).map(({ text }) => readXmp(text));
  const named = (...names: readonly string[]) =>
    names.flatMap((name) => texts.filter((one) => one.name.toLowerCase() === name).map(({ text }) => text));
  const titles = firstOf([
    ...xmp.flatMap((words) => words.titles),
    ...named("iptc 5", "iptc 105", "title", "exif 40091"),
  ]);
  const captions = firstOf([
    ...xmp.flatMap((words) => words.captions),
    ...named("iptc 120", "description", "exif 270", "exif 40092", "exif 40095"),
  ]);
  const keywords = [
    ...xmp.flatMap((words) => words.keywords),
    ...named("iptc 25").map((text) => text.split("\n")),
    ...named("exif 40094").map((text) => text.split(";")),
  ]
    .map((list) => [...new Set(list.map((word) => word.trim()).filter(isKeyword))])
    .find((list) => list.length > 0);
  const parts = [
    titles.find((text) => isOfPerson(text) && spell(text) !== spell(fileTitle)),
    withoutOrders(captions.find(isOfPerson) ?? ""),
    keywords?.slice(0, mostKeywords).join(", "),
    promptOf([...texts, ...captions.map((text) => ({ name: "", text }))]),
  ].map((part) => (part ?? "").slice(0, mostCharactersOfPart).trim());
  return parts.filter(
    (part, at) => part !== "" && !parts.slice(0, at).some((before) => spell(before).includes(spell(part))),
  );
}

const mostKeywords = 200;
/** Without the keywords in which darktable keeps its state and digiKam its ratings. */
const isKeyword = (word: string) =>
  word !== "" && !/^(?:darktable\b.*|exported|format|_Digikam_.*)$/i.test(word);

/** Midjourney writes its number of the picture, and its options, behind the prompt. */
function withoutOrders(text: string): string {
  const whole = text.slice(0, mostCharacters).trimEnd();
  const numberAt = whole.length - "Job ID: ".length - idLength;
  if (!/^Job ID: [\da-f-]+$/i.test(whole.slice(Math.max(0, numberAt)))) return text;
  return whole.slice(0, numberAt).replace(/\s--[a-z][^]*$/i, "");
}

const idLength = 36;

/** A description that is cleaned begins with no more of it. */
const mostCharactersOfPart = 4 * uploadLimits.descriptionCharacters;

const mostAlike = 4;
/** Different texts for the same thing, of which more are not looked at. */
const firstOf = (texts: readonly string[]) =>
  [...new Set(texts.filter((text) => text.trim() !== ""))].slice(0, mostAlike);

/** More of a text is not looked at. */
const mostCharacters = 100_000;

const spell = (text: string) => text.replaceAll("\0", "").trim().toLowerCase();

/** A graph of ComfyUI whose picture another service made has no sampler, but a node with the prompt. */
function promptOf(texts: readonly CarriedText[]): string | undefined {
  const settings = findSettings(texts);
  const prompt = settings?.prompt;
  // Only Draw Things calls this setting so. The last line of its prompt is the negative prompt.
  if (prompt) return settings.others.includes("Guidance Scale") ? prompt.replace(/\n-[^\n]*$/, "") : prompt;
  const graph = texts.find(({ name }) => name.toLowerCase() === "prompt")?.text ?? "";
  return inputsOnTheWay(Object(parseForeignJson(graph.slice(0, mostCharacters))))
    .flatMap(({ prompt: own, value }) => [own, value])
    .find((one): one is string => typeof one === "string" && /\s\S+\s/.test(one));
}

/** Inputs of the nodes that lead to what is saved, the nearest first: other texts may be notes. Of a graph that saves nothing all. */
function inputsOnTheWay(graph: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>[] {
  const node = (id: string) => Object(Object.hasOwn(graph, id) ? graph[id] : null);
  const inputsOf = (id: string) => Object(node(id).inputs);
  const ids = Object.keys(graph).slice(0, mostNodes);
  const savers = ids.filter((id) => /save|preview|output/i.test(String(node(id).class_type)));
  const way = new Set(savers.length > 0 ? savers : ids);
  // What is added to a set is visited as well.
  for (const id of way)
    for (const link of Object.values(inputsOf(id)))
      if (Array.isArray(link) && link.length === 2 && way.size < mostNodes) way.add(String(link[0]));
  return [...way].map(inputsOf);
}

const mostNodes = 200;

/** What cameras and programs write into every picture, in the spelling of `spell`. */
const ofMachines: readonly RegExp[] = [
  /^(?:olympus|konica minolta|minolta|samsung|kodak|pentax|medion|fujifilm|panasonic|casio|sanyo|vivitar|polaroid|benq|hp|sony)?\s*(?:digital )?(?:still )?(?:camera|dsc)(?: pictures?)?$/,
  /^(?:samsung|ricoh|jenoptik|dji|gopro|skypixel|kodak easyshare.*|casio computer co\.?, ?ltd\.?.*|minolta dimage.*|finepix.*|<digimax.*)$/,
  /^dcim\b/,
  /^exif[ _]jpe?g/,
  /^(?:default|untitled|image|picture|photo|binary comment|charset=.*|my beautiful picture|screenshot)$/,
  /^(?:(?:novelai|ai) generated image|made with (?:google ai|midjourney|canva)|generated by .{1,40})$/,
  /^(?:picasa|snapseed|applemark|xiaomi|piccollage|b612|meitu|canva|dall[-·. ]?e(?: ?\d)?|chatgpt image|my pictures)$/,
  /^(?:unknown|none|null|undefined|test|no (?:title|description|caption)|(?:image )?description|caption|title)$/,
  /^(?:adobe (?:photoshop|lightroom|firefly)\b|lavc\d*|lead technologies|handmade software|creator: |file (?:source|written by)|(?:optimized|compressed) by )/,
  /^(?:shot|taken|captured) (?:with|on) (?:my |an? )?(?:iphone|ipad|leica|hasselblad|oneplus|xiaomi|redmi|poco|realme|vivo|oppo|galaxy|pixel|lumia|halide|mi)\b/,
  /^screenshot[\s\d_.:-]*$/,
  // Whose it is, which says nothing of what is seen.
  /^(?:©|\(c\)|copyright\b)/,
  /^(?:photo|image|picture) by .{1,60} (?:on|from|\/) (?:unsplash|pexels|pixabay|flickr)\b/,
  // Modes of phones, as they stand alone.
  /^(?:oz|v|f|r|ai)?(?:cof|dav|hdr|hdrpl|nor|sdr|edf|mde|ptr|bty|bst|btf|btr|rbt|rpt|rptr|lv|yqt|pfimg|mvimg|smart|smartshot|grid|hmtr|burst|mtk)(?:_vivid|_art|pl)?$/,
  /^(?:created|generated|processed|edited) (?:with|using) /,
  // The name of a file, which is the title, and what is meant for programs.
  /^\S+\.(?:jpe?g|png|webp|avif|hei[cf]|gif|tiff?|psd|dng)$/,
  /^[{[<].*[}\]>]$/s,
  /^(?:prompt|workflow):\s*\{/,
  /^(?:imagej=|shape=)/,
];

const hasWords = /\p{L}/u;

/** A title or caption that somebody wrote for this picture. */
function isOfPerson(text: string): boolean {
  const spelt = spell(text.slice(0, mostCharacters));
  if (!hasWords.test(spelt) || ofMachines.some((pattern) => pattern.test(spelt))) return false;
  // JSON of other programs is found by its braces above.
  return !hasSettingsLine(text);
}
