import { spawnSync } from "node:child_process";
import { binaryPath } from "./binaries.ts";
import { StartError } from "./start-error.ts";

/** How a PostgreSQL program is started: PostgreSQL refuses to run as root. */
export interface RunAs {
  /** Put before the program and its arguments. */
  readonly prefix: readonly string[];
  /** User that the program changes to; null = the present one. */
  readonly user: { readonly uid: number; readonly gid: number } | null;
}

function lookUpId(flag: "-u" | "-g", name: string): number | null {
  const answer = spawnSync("id", [flag, name], { encoding: "utf8" });
  return answer.status === 0 ? Number(answer.stdout) : null;
}

function findUnprivilegedUser(): RunAs["user"] {
  for (const name of ["postgres", "nobody"]) {
    const uid = lookUpId("-u", name);
    const gid = lookUpId("-g", name);
    if (uid !== null && gid !== null) return { uid, gid };
  }
  return null;
}

/** As root: inside a user namespace (needs no user and works below /root), else as user postgres or nobody. */
export function chooseRunAs(): RunAs {
  if (process.getuid?.() !== 0) return { prefix: [], user: null };
  const probe = spawnSync("unshare", ["--user", binaryPath("postgres"), "--version"]);
  if (probe.status === 0) return { prefix: ["unshare", "--user"], user: null };
  const user = findUnprivilegedUser();
  if (user) return { prefix: [], user };
  throw new StartError(
    "PostgreSQL does not run as root, user namespaces are blocked here, and there is no user postgres or nobody. Start as another user, or set DATABASE_URL.",
  );
}

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly user: { uid?: number; gid?: number };
}

/** The command line of a PostgreSQL program under `runAs`. */
export function commandOf(runAs: RunAs, name: "postgres" | "initdb", args: readonly string[]): Command {
  const [file = "", ...rest] = [...runAs.prefix, binaryPath(name), ...args];
  return { file, args: rest, user: runAs.user ?? {} };
}
