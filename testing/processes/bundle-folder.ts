import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";

/** Carries the folder from the global set-up to the test processes. */
const folderName = "ATELIER_TEST_BUNDLE";

/** Names the folder in which the first start of a program in this run puts the bundle; returns how to remove it. */
export function openBundleFolder(): () => void {
  const folder = mkdtempSync(path.join(os.tmpdir(), "atelier-test-bundle-"));
  process.env[folderName] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}

/** The folder of this run; null where no global set-up has run. */
export const readBundleFolder = () => process.env[folderName] ?? null;
