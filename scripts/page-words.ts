import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { findPageWords, pageWordsFile } from "./check/find-page-words.ts";

const rootDir = path.resolve(import.meta.dirname, "..");

/** Writes which texts each page carries, after a component has begun to use another namespace. */
writeFileSync(path.join(rootDir, pageWordsFile), JSON.stringify(findPageWords(rootDir)));
process.exitCode = spawnSync("oxfmt", [pageWordsFile], { cwd: rootDir, stdio: "inherit" }).status ?? 1;
