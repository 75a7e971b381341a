import { existsSync } from "node:fs";
import { mkdir, rm, statfs, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import path from "node:path";
import { ZodError } from "zod";
import { isLoopback, loadConfig, type Env } from "../platform/index.ts";
import { failed, passed, reasonOf, type CheckResult } from "./check-result.ts";

const oldestNode = 24;
const leastFreeBytes = 1024 ** 3;

export function checkNode(): CheckResult {
  const version = process.versions.node;
  if (Number.parseInt(version, 10) >= oldestNode) return passed("Node.js", version);
  return failed("Node.js", `is version ${version}; install ${oldestNode} or newer`);
}

/** Makes the data folder if need be and writes a file into it. */
export async function checkDataDir(dataDir: string): Promise<CheckResult> {
  const folder = path.resolve(dataDir);
  const probe = path.join(folder, `.write-check-${process.pid}`);
  try {
    await mkdir(folder, { recursive: true });
    await writeFile(probe, "");
    await rm(probe);
    return passed("ATELIER_DATA_DIR", folder);
  } catch (error) {
    const advice = "give this user the right to write there, or name another folder";
    return failed("ATELIER_DATA_DIR", `${folder} cannot be written to (${reasonOf(error)}); ${advice}`);
  }
}

export async function checkDiskSpace(dataDir: string): Promise<CheckResult> {
  try {
    const { bavail, bsize } = await statfs(path.resolve(dataDir));
    const freeGib = ((bavail * bsize) / 1024 ** 3).toFixed(1);
    if (bavail * bsize >= leastFreeBytes) return passed("Disk space", `${freeGib} GiB free`);
    return failed("Disk space", `only ${freeGib} GiB free at the data folder; make room for at least 1 GiB`);
  } catch (error) {
    return failed("Disk space", `cannot be read: ${reasonOf(error)}`);
  }
}

function describeConfigError(error: unknown): string {
  if (!(error instanceof ZodError)) return reasonOf(error);
  return error.issues.map(({ path: at, message }) => `${at.join(".")}: ${message}`).join("; ");
}

export async function checkConfigFile(file: string): Promise<CheckResult> {
  if (!existsSync(file)) {
    return failed(
      "ATELIER_CONFIG",
      `there is no file ${path.resolve(file)}; correct the path, or unset the name`,
    );
  }
  try {
    await loadConfig(file);
    return passed("ATELIER_CONFIG", file);
  } catch (error) {
    return failed("ATELIER_CONFIG", `${file} is not valid: ${describeConfigError(error)}`);
  }
}

/** Whether a server could listen there; port 0 always works. */
export function checkPort(host: string, port: number): Promise<CheckResult> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => {
      const isHostWrong = error.code === "EADDRNOTAVAIL" || error.code === "ENOTFOUND";
      if (isHostWrong) return resolve(failed("HOST", `${host} is no address of this machine`));
      const what = error.code === "EADDRINUSE" ? "is in use" : `cannot be opened (${error.message})`;
      resolve(failed("PORT", `${port} ${what}; stop the program that has it, or set another PORT`));
    });
    server.listen(port, host, () => server.close(() => resolve(passed("PORT", `${port} is free`))));
  });
}

/** Whether passwords and session cookies may cross the network in plain text. */
export function checkExposure({ HOST, APP_URL }: Env): CheckResult {
  if (isLoopback(HOST)) return passed("HOST", `${HOST} is reached from this machine alone`);
  if (APP_URL?.startsWith("https://")) return passed("HOST", `${HOST}, behind ${APP_URL}`);
  const message = `${HOST} is open to the network over plain http; put a proxy with https before it and set APP_URL`;
  return { ...passed("HOST", message), isWarning: true };
}
