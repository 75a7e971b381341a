import { existsSync } from "node:fs";
import { mkdir, readdir, rm, statfs, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import path from "node:path";
import {
  ConfigError,
  type Env,
  explain,
  findMisspelled,
  findVainStarts,
  isLoopback,
  isQuoted,
  loadConfig,
  orLate,
  readProxy,
} from "../platform/index.ts";
import { modelsOf, readKeys } from "../providers/index.ts";
import { readGivenSigner, trySigner } from "../provenance/index.ts";

/** Outcome of one check; the message is for people and, when it failed, contains what to do. */
export interface CheckResult {
  /** Name of the setting or of the thing, for instance `REDIS_URL` or `Node.js`. */
  readonly name: string;
  readonly isOk: boolean;
  readonly message: string;
  /** It works, but should be looked at. */
  readonly isWarning?: true;
  /** It could not be tried, for the reason in the message. */
  readonly isUntried?: true;
  /** The other side's own words, as they came; `finish` makes them part of the message. */
  readonly said?: string;
  /** Why no answer came; `finish` makes it part of the message. */
  readonly noAnswer?: string;
}

export function passed(name: string, message: string): CheckResult {
  return { name, isOk: true, message };
}

export function failed(name: string, message: string): CheckResult {
  return { name, isOk: false, message };
}

export function warned(name: string, message: string): CheckResult {
  return { name, isOk: true, isWarning: true, message };
}

export function untried(name: string, message: string): CheckResult {
  return { name, isOk: true, isUntried: true, message };
}

/** The error message of an outside system, shortened to one line; never used to decide anything. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return reasonOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  return (error.message || error.name).split("\n")[0] ?? error.name;
}

/** The longest that a check takes: they run side by side. */
const limitMs = 28_000;

/** The findings of a check, or why it gave none. */
export async function within(
  name: string,
  check: Promise<CheckResult[]>,
  ms = limitMs,
): Promise<CheckResult[]> {
  const message = `gave no answer within ${ms / 1_000} s; look whether it is overloaded`;
  try {
    return await orLate(check, ms, () => [failed(name, message)]);
  } catch (error) {
    return [
      { ...failed(name, "cannot be reached; correct its address, or start it"), noAnswer: explain(error) },
    ];
  }
}

/** An address without its password. */
export function withoutPassword(address: string): string {
  const url = new URL(address);
  if (url.password) url.password = "***";
  return url.href;
}

const oldestNode = 24;
/** For a start, which unpacks a database; a running studio keeps less free (`limits.minFreeBytes`). */
const minFreeBytes = 1024 ** 3;

export function checkNode(): CheckResult {
  const version = process.versions.node;
  if (Number.parseInt(version, 10) >= oldestNode) return passed("Node.js", version);
  return failed("Node.js", `is version ${version}; install ${oldestNode} or newer`);
}

type DataEnv = Pick<Env, "ATELIER_DATA_DIR" | "AUTH_SECRET" | "DATABASE_URL" | "S3_BUCKET">;

/** What a studio does without where a folder of the data folder takes no files. */
const lossOf: Readonly<Record<string, string>> = {
  cache: "starts take longer",
  logs: "the console alone has the lines of the log",
  secrets: "no other secret can be kept there",
};

/** Made by an earlier start, perhaps by another user; `files` may be a disk of its own. */
function usedFolders({ S3_BUCKET }: DataEnv): readonly string[] {
  return [...Object.keys(lossOf), ...(S3_BUCKET === undefined ? ["files"] : []), "tmp"];
}

/** Whether a start would have to write one. */
function lacksSecret({ AUTH_SECRET, DATABASE_URL }: DataEnv, folder: string): boolean {
  const needed = [
    ...(AUTH_SECRET === undefined ? ["auth-secret"] : []),
    ...(DATABASE_URL === undefined ? ["postgres-password", "postgres-app-password"] : []),
  ];
  return needed.some((name) => !existsSync(path.join(folder, name)));
}

/** Creates the data folder if it is missing and writes a file into it and into its folders. */
export async function checkDataDir(env: DataEnv): Promise<CheckResult[]> {
  const folder = path.resolve(env.ATELIER_DATA_DIR);
  const faults: CheckResult[] = [];
  const judge = (tried: string, loss: string | undefined) => (error: unknown) => {
    const advice = "give this user the right to write there, or name another folder";
    const message = `${tried} cannot be written to (${reasonOf(error)}); ${advice}`;
    faults.push(
      loss === undefined
        ? failed("ATELIER_DATA_DIR", message)
        : warned("ATELIER_DATA_DIR", `${message}. Until then ${loss}`),
    );
  };
  const inIt = await mkdir(folder, { recursive: true })
    .then(() => tryWrite(folder))
    .then(() => readdir(folder))
    .catch(judge(folder, undefined));
  for (const name of usedFolders(env).filter((each) => inIt?.includes(each))) {
    const tried = path.join(folder, name);
    const isNeeded = name === "secrets" && lacksSecret(env, tried);
    await tryWrite(tried).catch(judge(tried, isNeeded ? undefined : lossOf[name]));
  }
  return faults.length > 0 ? faults : [passed("ATELIER_DATA_DIR", folder)];
}

async function tryWrite(folder: string): Promise<void> {
  const probe = path.join(folder, `.write-check-${process.pid}`);
  await writeFile(probe, "");
  // Processes of two containers have the same pid.
  await rm(probe, { force: true });
}

export async function checkDiskSpace(dataDir: string): Promise<CheckResult> {
  try {
    const { bavail, bsize } = await statfs(path.resolve(dataDir));
    const freeGib = ((bavail * bsize) / 1024 ** 3).toFixed(1);
    if (bavail * bsize >= minFreeBytes) return passed("Disk space", `${freeGib} GiB free`);
    return failed("Disk space", `only ${freeGib} GiB free at the data folder; make room for at least 1 GiB`);
  } catch (error) {
    return failed("Disk space", `cannot be read: ${reasonOf(error)}`);
  }
}

/** The file about behaviour, a finding for each of its faults. */
export async function checkConfigFile(env: Env): Promise<CheckResult[]> {
  const file = env.ATELIER_CONFIG;
  const name = "ATELIER_CONFIG";
  if (!existsSync(file))
    return [failed(name, `there is no file ${path.resolve(file)}; correct the path, or unset the name`)];
  try {
    const config = await loadConfig(file);
    modelsOf(config);
    const vain = readKeys(env).length > 0 ? findVainStarts(config) : [];
    return [passed(name, file), ...vain.map((message) => warned(name, message))];
  } catch (error) {
    if (!(error instanceof ConfigError)) return [failed(name, `${file} is not valid: ${reasonOf(error)}`)];
    return error.problems.map((fault) => failed(name, `${file}: ${fault.name} ${fault.message}`));
  }
}

/** Names of the environment that look like misspelled settings. */
export function checkNames(source: Readonly<Record<string, string | undefined>>): CheckResult[] {
  return findMisspelled(source).map(({ name, message }) => ({ ...passed(name, message), isWarning: true }));
}

/** Whether a server could listen there; port 0 always works. */
export function checkPort(host: string, port: number): Promise<CheckResult> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => {
      const isHostWrong = error.code === "EADDRNOTAVAIL" || error.code === "ENOTFOUND";
      if (isHostWrong) return resolve(failed("HOST", `${host} is no address of this machine`));
      const advice = "stop the program that has it, or set another PORT";
      const isTaken = error.code === "EADDRINUSE";
      const shut = `${port} cannot be opened (${error.message}); ${advice}`;
      resolve(failed("PORT", isTaken ? `${port} is in use; ${advice}` : shut));
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

/** Who may spend the operator's money in a studio where anybody may make an account. */
export function checkSignUp(env: Env): CheckResult[] {
  const hasKey = readKeys(env).length > 0 || paidModelKeys.some((name) => env[name] !== undefined);
  if (env.SIGN_UP !== "open" || !hasKey) return [];
  const message =
    "open: an account without an invitation spends nothing at providers until an admin gives it limits on the page of users";
  return [passed("SIGN_UP", message)];
}

const paidModelKeys = ["ANTHROPIC_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "OPENAI_API_KEY"] as const;

/** Of the program: below some names the styles of the pages are not found. */
export function checkFolder(folder: string): CheckResult {
  const message = `${folder} has a # in its path, with which the pages cannot be made: move or rename the folder`;
  return { name: "Folder", isOk: !folder.includes("#"), message };
}

/** The forward proxies that are in force for calls to the outside; nothing without a setting. */
export function checkProxies(env: Env): CheckResult[] {
  const names = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"] as const;
  const without = ["servers of the own network", ...(env.NO_PROXY ?? [])].join(", ");
  return names.flatMap((name) => {
    const given = env[name];
    if (given === undefined) return [];
    const proxy = readProxy(given);
    // The lines that programs for proxies give out set a SOCKS one beside the other two.
    const isUnused = name === "ALL_PROXY" && env.HTTPS_PROXY !== undefined && env.HTTP_PROXY !== undefined;
    if (!proxy && isUnused) return [passed(name, "not used: HTTPS_PROXY and HTTP_PROXY name all there is")];
    if (!proxy)
      return [
        failed(name, "is no address like http://proxy.example.org:3128; other kinds of proxies are not used"),
      ];
    return [passed(name, `${withoutPassword(proxy.href)} for calls to the outside, but for ${without}`)];
  });
}

/** Docker's `--env-file` keeps quotes that a shell and Compose take off: then two processes have two secrets. */
export function checkSecret({ AUTH_SECRET }: Pick<Env, "AUTH_SECRET">): CheckResult[] {
  if (!isQuoted(AUTH_SECRET)) return [];
  return [
    warned(
      "AUTH_SECRET",
      "has quotes around its value, which count here. A process that reads it without them has another secret and cannot open what this one sealed: give all of them the same, and leave the quotes where they have counted so far",
    ),
  ];
}

const dayMs = 86_400_000;
/** So long before its certificate ends the operator is told. */
const noticeDays = 30;

/** What signs the pictures that AI made. A start must not depend on it: without it they have no manifest. */
export async function checkSigningKey(env: Env): Promise<CheckResult> {
  const name = "Signing key";
  try {
    const given = await readGivenSigner(env);
    if (given && !(await trySigner(given)))
      return warned(name, "what it signs cannot be verified; renew SIGNING_KEY and SIGNING_CERTIFICATES");
    if (given) return judgeSigner(name, given.validUntil);
  } catch (error) {
    return warned(name, `${reasonOf(error)} What AI makes has no manifest until then: docs/provenance.md`);
  }
  if (env.AUTH_SECRET !== undefined || env.DATABASE_URL === undefined)
    return passed(name, "one of the studio’s own, which it makes at the first need");
  return warned(
    name,
    "what AI makes in this process has no manifest; set AUTH_SECRET as for the pages, or SIGNING_KEY",
  );
}

function judgeSigner(name: string, validUntil: Date): CheckResult {
  const day = validUntil.toISOString().slice(0, 10);
  return validUntil.getTime() - Date.now() < noticeDays * dayMs
    ? warned(name, `the certificate ends on ${day}; replace SIGNING_CERTIFICATES before`)
    : passed(name, `your own, signs and is verified; its certificate is valid until ${day}`);
}
