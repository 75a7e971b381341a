import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { brokenPageFile, findBrokenPage, findPageWords, pageWordsFile } from "./check/find-page-words.ts";

const rootDir = path.resolve(import.meta.dirname, "..");

const made = { [pageWordsFile]: findPageWords(rootDir), [brokenPageFile]: findBrokenPage(rootDir) };

/** Writes which texts each page carries, after a component has begun to use another namespace, and those of a page that broke. */
for (const [file, words] of Object.entries(made))
  writeFileSync(path.join(rootDir, file), JSON.stringify(words));
process.exitCode = spawnSync("oxfmt", Object.keys(made), { cwd: rootDir, stdio: "inherit" }).status ?? 1;
