import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkPageWords, findPageWords } from "./find-page-words.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "atelier-words-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(files: Readonly<Record<string, string>>): void {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), text);
  }
}
const client = (...lines: readonly string[]) => ['"use client";', ...lines].join("\n");
const uses = (namespace: string) => `const t = useTranslations("${namespace}");`;

const studio = {
  "i18n/page-words.json": "{}",
  "app/layout.tsx": 'import { Frame } from "./frame/frame.tsx";\n"app/layout.tsx" "app/frame/frame.tsx"',
  "app/error.tsx": client(uses("pageErrors")),
  "app/frame/frame.tsx": client(uses("frame"), 'import { text } from "../jobs/text.ts";'),
  "app/jobs/text.ts": `export const text = () => { ${uses("jobs")} };`,
  "app/page.tsx":
    '// "app/page.tsx"\nimport { helper } from "./server-part.tsx";\nimport { Studio } from "./studio.tsx";',
  "app/server-part.tsx": uses("studio.onServer"),
  "app/studio.tsx": client(
    'import type { Other } from "./other.tsx";',
    'const Dialog = lazy(() => import("./dialog.tsx"));',
    uses("studio.mask"),
    uses("jobs.kinds"),
  ),
  "app/dialog.tsx": uses("studio"),
  "app/other.tsx": client(uses("other")),
  "app/sign-in/page.tsx": '// "app/sign-in/page.tsx"\nimport { Card } from "./card.tsx";',
  "app/sign-in/card.tsx": client('import { text } from "../jobs/text.ts";', uses("signIn")),
};

test("a page carries what its client components use, also in what they load late, and not what is carried around it", () => {
  write(studio);
  expect(findPageWords(folder)).toEqual({
    "app/layout.tsx": ["pageErrors"],
    "app/frame/frame.tsx": ["frame", "jobs"],
    "app/page.tsx": ["studio"],
    "app/sign-in/page.tsx": ["jobs", "signIn"],
  });
});

test("a namespace that a page does not carry is found, and a page that carries nothing", () => {
  write(studio);
  const stored = JSON.stringify(findPageWords(folder));
  write({ "i18n/page-words.json": stored });
  expect(checkPageWords(folder)).toEqual([]);
  write({ "app/dialog.tsx": `${uses("studio")}${uses("links")}` });
  write({ "app/page.tsx": 'import { Studio } from "./studio.tsx";' });
  expect(checkPageWords(folder)).toEqual([
    'app/page.tsx must render its content in <Words of="app/page.tsx">',
    "i18n/page-words.json is not what the pages use: run npx -y pnpm@12.21.0 words",
  ]);
});

test("texts without a namespace are refused: a page would have to carry all", () => {
  write({ ...studio, "app/other.tsx": "", "app/dialog.tsx": "useTranslations();" });
  expect(checkPageWords(folder)).toContain("app/page.tsx reaches a useTranslations() without a namespace");
});
