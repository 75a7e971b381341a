import { existsSync, globSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { quickResolveFlag } from "../../scripts/process/quick-resolve-flag.ts";
import { waitUntil } from "../../scripts/process/tools.ts";
import { readBundleFolder } from "./bundle-folder.ts";

/*
 * Tests start some programs hundreds of times. From its sources a worker loads 800 files, which is half of the work of its
 * start; from a bundle that the run's first start makes, 20. What a bundled program starts itself (a thread, a child) runs
 * from the sources, as do the programs themselves wherever the global set-up has not run (benchmarks).
 */

const root = path.resolve(import.meta.dirname, "../..");

/** Bundled together, so that they share what they have in common. */
const programs = [
  "cli/main.ts",
  "worker/main.ts",
  "testing/worker/main.ts",
  "testing/live/main.ts",
  "testing/chaos/submit-and-die.ts",
];
const listEntries = () => [...programs, ...globSync("testing/config/*.config.ts", { cwd: root })];

/** They load libraries of the system by their own address. */
const native = /^(sharp|onnxruntime-node|libheif-js|@tensorflow|@techstark)(\/|$)/;

function findNative(name: string, importer: string | undefined) {
  return { id: createRequire(importer ?? import.meta.url).resolve(name), external: true };
}

/** A module keeps the address of its source, by which it finds files, threads and children beside it. */
function keepAddress(code: string, file: string): string {
  return code
    .replaceAll(/\bimport\.meta\.dirname\b/g, JSON.stringify(path.dirname(file)))
    .replaceAll(/\bimport\.meta\.url\b/g, JSON.stringify(pathToFileURL(file).href));
}

/** Where a source ends up in a bundle; each has a name of its own. */
const bundledName = (file: string) => file.replace(/\.ts$/, "").replaceAll("/", "-");

async function makeBundle(dir: string): Promise<void> {
  const { rolldown } = await import("rolldown");
  const bundle = await rolldown({
    cwd: root,
    input: Object.fromEntries(listEntries().map((file) => [bundledName(file), path.join(root, file)])),
    platform: "node",
    plugins: [
      {
        name: "in place",
        resolveId: { filter: { id: native }, handler: findNative },
        transform: { filter: { id: /\.ts$/ }, handler: keepAddress },
      },
    ],
  });
  await bundle.write({ dir, entryFileNames: "[name].mjs", chunkFileNames: "[name]-[hash].mjs" });
  await bundle.close();
}

const patienceMs = 240_000;

/** The test process that makes the folder of the lock makes the bundle; the others wait for it. */
async function ensureBundle(folder: string): Promise<string> {
  // There Node is silent about what libraries use that will go, as it is about them in their own place.
  const dir = path.join(folder, "node_modules", "bundle");
  const failed = path.join(folder, "failed");
  try {
    mkdirSync(path.join(folder, "lock"));
  } catch {
    await waitUntil(() => existsSync(dir) || existsSync(failed), patienceMs);
    if (!existsSync(dir))
      throw new Error("The test process that makes the bundle of this run did not make it.");
    return dir;
  }
  try {
    await makeBundle(`${dir}.draft`);
    renameSync(`${dir}.draft`, dir);
    return dir;
  } catch (error) {
    writeFileSync(failed, "");
    throw error;
  }
}

let bundle: Promise<string> | undefined;

/** The quickest form of a source of the project that node can load, by its path below the root. */
export async function findBundled(file: string): Promise<string> {
  const folder = readBundleFolder();
  if (!folder || !listEntries().includes(file)) return path.join(root, file);
  bundle ??= ensureBundle(folder);
  return path.join(await bundle, `${bundledName(file)}.mjs`);
}

/** Room for what a start makes, in MB: from the usual one on, collecting takes a sixth of the time in which a worker loads. */
const youngFlag = "--min-semi-space-size=16";

/** What node gets to run a program of the project, by its path below the root. */
export async function findProgram(file: string): Promise<readonly string[]> {
  const found = await findBundled(file);
  return [youngFlag, ...(found.endsWith(".mjs") ? [] : [quickResolveFlag]), found];
}

/** Where processes of tests keep compiled code. */
export const compileCacheDir = () =>
  path.join(readBundleFolder() ?? path.join(os.tmpdir(), "atelier-test"), "compile-cache");
