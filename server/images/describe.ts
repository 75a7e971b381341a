import type { DescribedBy } from "../db/index.ts";
import {
  type CarriedText,
  findSettings,
  hasSettingsLine,
  isXmp,
  readCarriedTexts,
  textsOfBlocks,
} from "../carried/index.ts";
import { isHeif, sideBlocksOfHeif } from "./formats/heif.ts";
import { sideBlocksOfGif } from "./formats/simple.ts";
import type { IngestInput } from "./image.ts";
import { uploadLimits } from "./limits.ts";
import { cleanDescription, titleOfFile } from "./title.ts";

/** Columns of the row of an upload. */
export interface Words {
  readonly title: string;
  readonly description?: string;
  readonly describedBy?: DescribedBy;
}

/**
 * The words for an upload. Its description is what the file says of its picture: title, caption and keywords (XMP, IPTC, camera
 * data, texts of a PNG), and the prompt that a program of this field left in it. A mask has none.
 */
export async function wordsOf(
  bytes: Buffer,
  { name, role }: Pick<IngestInput, "name" | "role">,
): Promise<Words> {
  const title = titleOfFile(name ?? "");
  const description = role === "mask" ? "" : await describeFile(bytes, title);
  return description === "" ? { title } : { title, description, describedBy: "file" };
}

/** Empty where the file says nothing, and where what it says cannot be read. */
async function describeFile(bytes: Buffer, title: string): Promise<string> {
  try {
    return cleanDescription(partsOf(lookedAt(await textsOf(bytes)), title).join("\n"));
  } catch {
    // Anybody may have made the file, and its words are no condition of taking its picture.
    return "";
  }
}

async function textsOf(bytes: Buffer): Promise<readonly CarriedText[]> {
  if (isHeif(bytes)) return textsOfBlocks(sideBlocksOfHeif(bytes));
  if (bytes.toString("latin1", 0, 4) === "GIF8") return textsOfBlocks(sideBlocksOfGif(bytes));
  return readCarriedTexts(bytes);
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
    ...xmp.map(({ title }) => title),
    ...named("iptc 5", "iptc 105", "title", "exif 40091"),
  ]);
  const captions = firstOf([
    ...xmp.map(({ description }) => description),
    ...named("iptc 120", "description", "exif 270", "exif 40092", "exif 40095"),
  ]);
  const keywords = [
    ...xmp.map(({ subjects }) => subjects),
    ...named("iptc 25").map((text) => text.split("\n")),
    ...named("exif 40094").map((text) => text.split(";")),
  ]
    .map((list) => [...new Set(list.map((word) => word.trim()).filter((word) => word !== ""))])
    .find((list) => list.length > 0);
  const parts = [
    titles.find((text) => isOfPerson(text) && spell(text) !== spell(fileTitle)),
    captions.find(isOfPerson),
    keywords?.slice(0, mostKeywords).join(", "),
    promptOf([...texts, ...captions.map((text) => ({ name: "", text }))]),
  ].map((part) => (part ?? "").slice(0, mostCharactersOfPart).trim());
  return parts.filter(
    (part, at) => part !== "" && !parts.slice(0, at).some((before) => spell(before).includes(spell(part))),
  );
}

const mostKeywords = 200;
/** A description that is cleaned begins with no more of it. */
const mostCharactersOfPart = 4 * uploadLimits.descriptionCharacters;

const mostAlike = 4;
/** Different texts for the same thing, of which more are not looked at. */
const firstOf = (texts: readonly string[]) =>
  [...new Set(texts.filter((text) => text.trim() !== ""))].slice(0, mostAlike);

/** More of a text is not looked at. */
const mostCharacters = 100_000;

const spell = (text: string) => text.replaceAll("\0", "").trim().toLowerCase();
const promptOf = (texts: readonly CarriedText[]) => findSettings(texts)?.prompt;

/** What cameras and programs write into every picture, in the spelling of `spell`. */
const ofMachines: readonly RegExp[] = [
  /^(?:olympus|konica minolta|minolta|samsung|kodak|pentax|medion|fujifilm|panasonic|casio|sanyo|vivitar|polaroid|benq|hp|sony)?\s*(?:digital )?(?:still )?(?:camera|dsc)(?: pictures?)?$/,
  /^(?:samsung|ricoh|jenoptik|dji|gopro|skypixel|kodak easyshare.*|casio computer co\.?, ?ltd\.?.*|minolta dimage.*|finepix.*|<digimax.*)$/,
  /^dcim\b/,
  /^exif[ _]jpe?g/,
  /^(?:default|untitled|image|picture|photo|binary comment|charset=.*|my beautiful picture|screenshot)$/,
  /^(?:(?:novelai|ai) generated image|made with google ai)$/,
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

interface XmpWords {
  readonly title: string;
  readonly description: string;
  readonly subjects: readonly string[];
}

/**
 * The words of an XMP packet, looked up by their names. It is not read as XML, whose entities and nesting have no end: only the
 * names that every program writes are known.
 */
function readXmp(xml: string): XmpWords {
  const [, prefix = "dc"] =
    /xmlns:([\w.-]{1,50})\s*=\s*["']http:\/\/purl\.org\/dc\/elements\/1\.1\/["']/.exec(xml) ?? [];
  const inLanguages = (name: string) => {
    const all = itemsIn(elementOf(xml, `${prefix}:${name}`));
    return (all.find(({ isDefault }) => isDefault) ?? all[0])?.text ?? "";
  };
  return {
    title: inLanguages("title"),
    description: inLanguages("description"),
    subjects: itemsIn(elementOf(xml, `${prefix}:subject`)).map(({ text }) => text),
  };
}

/** What stands in the first element of this name; empty without one. */
function elementOf(xml: string, name: string): string {
  const [start, end] = [xml.indexOf(`<${name}>`), xml.indexOf(`</${name}>`)];
  return start < 0 || end < start ? "" : xml.slice(start + name.length + 2, end);
}

interface Item {
  readonly text: string;
  readonly isDefault: boolean;
}

/** The items of a list, or a text that stands alone. */
function itemsIn(xml: string): Item[] {
  const items: Item[] = [];
  let at = xml.indexOf("<rdf:li");
  // Items without words are counted too: each costs a search.
  for (let turns = 0; at >= 0 && turns < mostKeywords; turns += 1) {
    const start = xml.indexOf(">", at);
    if (start < 0) break;
    const isEmpty = xml[start - 1] === "/";
    const end = isEmpty ? start : xml.indexOf("</rdf:li>", start);
    if (end < 0) break;
    if (!isEmpty)
      items.push({
        text: plainText(xml.slice(start + 1, end)),
        isDefault: xml.slice(at, Math.min(start, at + 200)).includes("x-default"),
      });
    at = xml.indexOf("<rdf:li", end);
  }
  return items.length > 0 || xml === "" ? items : [{ text: plainText(xml), isDefault: true }];
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** Without tags, and with what each entity stands for. */
function plainText(xml: string): string {
  return xml
    .slice(0, mostCharacters)
    .replaceAll(/<!\[CDATA\[|\]\]>/g, "")
    .replaceAll(/<[^<>]*>/g, " ")
    .replaceAll(/&(?:#x([\da-f]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos));/gi, (whole, hex, decimal, name) => {
      if (typeof name === "string") return entities[name.toLowerCase()] ?? whole;
      const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
      return code <= 0x10_ff_ff ? String.fromCodePoint(code) : "";
    })
    .trim();
}
