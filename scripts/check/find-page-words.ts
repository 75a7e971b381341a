import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { locales } from "@atelier/server/locales";

/** By the file that begins a part of a page, the namespaces of `messages/en.json` that its client components use. */
export type PageWords = Readonly<Record<string, readonly string[]>>;

/** What pages carry (`app/parts/words.tsx` reads it). */
export const pageWordsFile = "i18n/page-words.json";

/** What `app/global-error.tsx` says in each language, since no page carries its texts there. */
export const brokenPageFile = "i18n/broken-page.json";

const rootLayout = "app/layout.tsx";
const frame = "app/frame/frame.tsx";
/** Pages that stand without the frame, too, where a studio is closed to guests. */
const withoutFrame = /^app\/sign-in\//;

const anyImport = /(?:^|\n)(?:import|export)\s(?!type\s)[^;"]*?from\s+"(\.[^"]+)"|\bimport\(\s*"(\.[^"]+)"/g;
const anyUse = /\buseTranslations\(\s*(?:"([\w.]+)")?/g;

interface Source {
  readonly isClient: boolean;
  readonly imports: readonly string[];
  readonly uses: readonly string[];
}

type Read = (file: string) => Source;

/** Reads each file once. */
function openSources(rootDir: string): Read {
  const known = new Map<string, Source>();
  return (file) => {
    const source = known.get(file) ?? readSource(rootDir, file);
    known.set(file, source);
    return source;
  };
}

function readSource(rootDir: string, file: string): Source {
  const text = readFileSync(path.join(rootDir, file), "utf8");
  const imports = [...text.matchAll(anyImport)].map(([, fixed, lazy]) =>
    path.join(path.dirname(file), fixed ?? lazy ?? ""),
  );
  return {
    isClient: text.startsWith('"use client"'),
    imports: imports.filter((target) => /^app\/.*\.tsx?$/.test(target)),
    uses: [...text.matchAll(anyUse)].map(([, namespace = ""]) => namespace),
  };
}

/** The namespaces of all that a file brings to the browser; a file that `stopsAt` names brings its own. */
function collect(read: Read, begin: string, stopsAt: ReadonlySet<string>): ReadonlySet<string> {
  const found = new Set<string>();
  const seen = new Set<string>();
  const walk = (file: string, isBelowClient: boolean): void => {
    const source = read(file);
    const isClient = isBelowClient || source.isClient;
    const key = `${file} ${isClient}`;
    if (seen.has(key)) return;
    seen.add(key);
    if (isClient) for (const namespace of source.uses) found.add(namespace);
    for (const target of source.imports) if (!stopsAt.has(target)) walk(target, isClient);
  };
  walk(begin, false);
  return found;
}

const covers = (outer: string, namespace: string) => namespace === outer || namespace.startsWith(`${outer}.`);

/** Without what another of the list holds already, or what is carried around it. */
function lacking(wanted: Iterable<string>, carried: readonly string[]): string[] {
  const all = [...new Set(wanted)];
  return all
    .filter((one) => !all.some((other) => other !== one && covers(other, one)))
    .filter((one) => !carried.some((outer) => covers(outer, one)))
    .toSorted();
}

/** Files that Next.js renders inside the layout of their folder but outside of its pages. */
const besidePages = ["error", "not-found", "loading"].map((name) => `${name}.tsx`);

/** The layouts around a page, the outermost first. */
function layoutsAround(file: string, layouts: readonly string[]): string[] {
  return layouts.filter((layout) => file !== layout && file.startsWith(`${path.dirname(layout)}/`));
}

/** Which namespaces each layout, the frame and each page must carry, found by their imports. */
export function findPageWords(rootDir: string): PageWords {
  const read = openSources(rootDir);
  const find = (name: string) => globSync(`app/**/${name}.tsx`, { cwd: rootDir }).toSorted();
  const layouts = find("layout").toSorted((a, b) => a.length - b.length);
  const words: Record<string, readonly string[]> = {};
  const around = (file: string) => layoutsAround(file, layouts).flatMap((layout) => words[layout] ?? []);
  for (const layout of layouts) {
    const beside = besidePages
      .map((name) => path.join(path.dirname(layout), name))
      .filter((file) => find(path.basename(file, ".tsx")).includes(file));
    const own = [layout, ...beside].flatMap((file) => [...collect(read, file, new Set([frame]))]);
    const outer = layout === rootLayout ? [] : [...around(layout), ...(words[frame] ?? [])];
    words[layout] = lacking(own, outer);
    if (layout === rootLayout) words[frame] = lacking(collect(read, frame, new Set()), words[layout]);
  }
  for (const page of find("page")) {
    const carried = withoutFrame.test(page) ? around(page) : [...around(page), ...(words[frame] ?? [])];
    words[page] = lacking(collect(read, page, new Set()), carried);
  }
  const used = Object.entries(words).filter(([, namespaces]) => namespaces.length > 0);
  return Object.fromEntries(used.toSorted(([a], [b]) => a.localeCompare(b)));
}

const readJson = (rootDir: string, file: string) =>
  JSON.parse(readFileSync(path.join(rootDir, file), "utf8"));

/** The texts of a page that broke, by language. */
export function findBrokenPage(rootDir: string) {
  const entries = locales.map((locale) => {
    const { brokenTitle, brokenText, again } = readJson(rootDir, `messages/${locale}.json`).pageErrors;
    return [locale, { brokenTitle, brokenText, again }] as const;
  });
  return Object.fromEntries(entries);
}

/** What is wrong with the texts that pages carry; empty when each carries what its components use. */
export function checkPageWords(rootDir: string): string[] {
  const wanted = findPageWords(rootDir);
  const problems = Object.entries(wanted).flatMap(([file, namespaces]) => {
    if (namespaces.includes("")) return [`${file} reaches a useTranslations() without a namespace`];
    const text = readFileSync(path.join(rootDir, file === frame ? rootLayout : file), "utf8");
    return text.includes(`"${file}"`) ? [] : [`${file} must render its content in <Words of="${file}">`];
  });
  return [...problems, ...findStale(rootDir, pageWordsFile, wanted)];
}

/** Whether what the broken page says is what the catalogues say. */
export function checkBrokenPage(rootDir: string): string[] {
  return findStale(rootDir, brokenPageFile, findBrokenPage(rootDir));
}

function findStale(rootDir: string, file: string, is: unknown): string[] {
  if (JSON.stringify(readJson(rootDir, file)) === JSON.stringify(is)) return [];
  return [`${file} is not what the pages use: run npx -y pnpm@12.21.0 words`];
}
