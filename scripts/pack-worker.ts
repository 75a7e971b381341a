/**
 * Packs the worker into a folder that needs nothing else: no repository, no Node.js, no registry. `node scripts/pack-worker.ts FOLDER`.
 *
 * The folder has the layout of the repository, since Node.js runs no TypeScript below `node_modules`, which rules `pnpm deploy` out. It lacks the
 * pages, the command line, tests and their packages.
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

const root = path.join(import.meta.dirname, "..");
const packed = ["server", "worker", "messages", "drizzle", "atelier.config.ts", "LICENSE", "pnpm-lock.yaml"];

/** Packages of the pages, of which others are optional companions. */
const pagesOnly = ["next", "typescript", "@playwright/test", "drizzle-kit", "vitest", "rolldown"];

const [given] = process.argv.slice(2);
const folder = path.resolve(given ?? "");
if (given === undefined || (existsSync(folder) && readdirSync(folder).length > 0)) {
  console.error("Name a new or an empty folder: node scripts/pack-worker.ts FOLDER");
  process.exit(1);
}
const filter = (file: string) =>
  !/node_modules|\/fixtures(\/|$)|\.test\.tsx?$/.test(path.relative(root, file));
for (const name of packed)
  cpSync(path.join(root, name), path.join(folder, name), { recursive: true, filter });

const product: { version: string; license: string; engines: unknown; optionalDependencies: unknown } =
  JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
const { version, license, engines, optionalDependencies } = product;
const workspace = "workspace:*";
writeFileSync(
  path.join(folder, "package.json"),
  `${JSON.stringify(
    {
      name: "atelier-worker",
      version,
      private: true,
      license,
      type: "module",
      scripts: { start: "node worker/main.ts" },
      dependencies: { "@atelier/server": workspace, "@atelier/worker": workspace },
      optionalDependencies,
      engines,
    },
    null,
    2,
  )}\n`,
);
const settings = readFileSync(path.join(root, "pnpm-workspace.yaml"), "utf8");
writeFileSync(
  path.join(folder, "pnpm-workspace.yaml"),
  settings
    .replace(/^packages: .*$/m, "packages: [server, worker]")
    .replace(/^overrides:$/m, `overrides:\n${pagesOnly.map((name) => `  "${name}": "-"`).join("\n")}`),
);
const { status } = spawnSync(
  "npx",
  ["-y", "pnpm@12.21.0", "install", "--prod", "--no-frozen-lockfile", "--prefer-offline"],
  { cwd: folder, stdio: "inherit", env: { ...process.env, CI: "true" } },
);
if (status !== 0) process.exit(status ?? 1);

// The package of the local engine's runtime has the libraries of all platforms: bin/<interface>/<platform>/<processor>.
const own = path.join(process.platform, process.arch);
const store = path.join(folder, "node_modules/.pnpm");
for (const entry of readdirSync(store).filter((name) => name.startsWith("onnxruntime-node@"))) {
  const bin = path.join(store, entry, "node_modules/onnxruntime-node/bin");
  const libraries = readdirSync(bin, { recursive: true, encoding: "utf8" }).filter(
    (name) => name.split(path.sep).length === 3 && !name.endsWith(own),
  );
  for (const name of libraries) rmSync(path.join(bin, name), { recursive: true });
}
