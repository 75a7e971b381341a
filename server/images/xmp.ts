/** What the XMP packet of a file says of its picture, the plainest first. */
export interface XmpWords {
  readonly titles: readonly string[];
  readonly captions: readonly string[];
  /** Lists of keywords; most programs write the same ones in several. */
  readonly keywords: readonly (readonly string[])[];
}

/** Names of elements, without the prefix of Dublin Core, which files choose. */
const dublinCore = { title: ":title", description: ":description", subject: ":subject" } as const;
/** Others are known by the prefix that all programs use. Words for people who do not see the picture say most of it. */
const titleNames = ["photoshop:Headline"] as const;
const captionNames = [
  "Iptc4xmpCore:AltTextAccessibility",
  "Iptc4xmpCore:ExtDescrAccessibility",
  "tiff:ImageDescription",
  "acdsee:caption",
] as const;
/** Paths of keywords, such as `Animals|Fox`. */
const keywordNames = ["lr:hierarchicalSubject", "digiKam:TagsList", "MicrosoftPhoto:LastKeywordXMP"] as const;
const mostPrefixes = 4;

/**
 * The words of an XMP packet, looked up by their names. It is not read as XML, whose entities and nesting have no end: only the
 * names that programs write are known.
 */
export function readXmp(xml: string): XmpWords {
  const declared = xml.matchAll(
    /xmlns:([\w.-]{1,50})\s*=\s*["']http:\/\/purl\.org\/dc\/elements\/1\.1\/["']/g,
  );
  const prefixes = [...new Set([...declared.take(mostPrefixes).map(([, prefix = ""]) => prefix), "dc"])];
  const named = (name: string) => prefixes.map((prefix) => prefix + name);
  const textsOf = (names: readonly string[]) =>
    names.map((name) => xmpTextOf(xml, name)).filter((text) => text !== "");
  const listsOf = (names: readonly string[]) =>
    names.map((name) => itemsIn(elementOf(xml, name)).map(({ text }) => text));
  return {
    titles: textsOf([...named(dublinCore.title), ...titleNames]),
    captions: textsOf([...named(dublinCore.description), ...captionNames]),
    keywords: [
      ...listsOf(named(dublinCore.subject)),
      ...listsOf(keywordNames).map((paths) => paths.flatMap((path) => path.split(/[|/]/))),
    ],
  };
}

/** In the language that others are without; some programs write it as an attribute. */
export function xmpTextOf(xml: string, name: string): string {
  const all = itemsIn(elementOf(xml, name)).filter(({ text }) => text !== "");
  return (all.find(({ isDefault }) => isDefault) ?? all[0])?.text ?? plainText(attributeOf(xml, name));
}

const mostLooks = 20;

/** What stands in the first element of this name; empty without one. */
function elementOf(xml: string, name: string): string {
  let start = xml.indexOf(`<${name}`);
  for (let looks = 0; start >= 0 && looks < mostLooks; looks += 1) {
    const next = xml.charAt(start + name.length + 1);
    const open = /[\s>]/.test(next) ? xml.indexOf(">", start) : -1;
    const end = open < 0 || xml[open - 1] === "/" ? -1 : xml.indexOf(`</${name}`, open);
    if (end >= 0) return xml.slice(open + 1, end);
    start = xml.indexOf(`<${name}`, start + 1);
  }
  return "";
}

/** The value of the first attribute of this name; empty without one. */
function attributeOf(xml: string, name: string): string {
  const start = xml.indexOf(` ${name}=`) + name.length + 2;
  const quote = xml.charAt(start);
  if (start === name.length + 1 || (quote !== '"' && quote !== "'")) return "";
  const end = xml.indexOf(quote, start + 1);
  const value = end < 0 ? "" : xml.slice(start + 1, end);
  return value.includes("<") ? "" : value;
}

const mostItems = 200;
/** More of a text is not looked at. */
const mostCharacters = 100_000;

interface Item {
  readonly text: string;
  readonly isDefault: boolean;
}

/** The items of a list, or a text that stands alone. */
function itemsIn(xml: string): Item[] {
  const items: Item[] = [];
  let at = xml.indexOf("<rdf:li");
  // Items without words are counted too: each costs a search.
  for (let turns = 0; at >= 0 && turns < mostItems; turns += 1) {
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
