import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import {
  createApiKey as createKey,
  createInvitation,
  createUser as createUserAccount,
  findAccount,
  invitationDays,
  type KeyRight,
  keyRights,
  maxKeyCapUsd,
  maxKeyDays,
  maxKeyPerMinute,
  resetPassword as resetAccountPassword,
} from "@atelier/server/accounts";
import { capPeriods } from "@atelier/server/db";
import { AppError, originOf } from "@atelier/server/platform";
import type { KeyCap } from "@atelier/server/providers";
import { withServices } from "./database.ts";
import { parseFlags } from "./flags.ts";

const createApiKeyUsage = `Usage: atelier create-api-key --email <address> [--name <name>] [--rights <${keyRights.join(",")}>] [--days <days>] [--per-minute <requests>] [--cap <USD> [--cap-per <${capPeriods.join("|")}>]]`;

/** The whole number of an option, from 1; null where it is not given. */
function readCount(name: string, value: string, max: number): number | null {
  if (value === "") return null;
  const count = Number(value);
  if (Number.isInteger(count) && count >= 1 && count <= max) return count;
  throw new AppError("bad_request", `--${name} must be a whole number from 1 to ${max}.`);
}

function readRights(value: string): KeyRight[] | null {
  if (value === "") return null;
  const names = value.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !keyRights.some((right) => right === name));
  if (unknown === undefined) return keyRights.filter((right) => names.includes(right));
  throw new AppError("bad_request", `--rights are some of ${keyRights.join(", ")}, not "${unknown}".`);
}

/** The cap of `--cap` and `--cap-per`; null where there is none. */
function readCap(value: string, period: string): KeyCap | null {
  if (value === "") return null;
  const usd = Number(value);
  if (!(usd >= 0 && usd <= maxKeyCapUsd))
    throw new AppError("bad_request", `--cap must be a sum in USD from 0 to ${maxKeyCapUsd}.`);
  const known = capPeriods.find((one) => one === period);
  if (known !== undefined) return { usd, period: known };
  throw new AppError("bad_request", `--cap-per is one of ${capPeriods.join(", ")}, not "${period}".`);
}

/** `atelier create-api-key`: makes an API key for an account; stdout holds the key alone, which is shown this once. */
export async function createApiKey(args: string[]): Promise<number> {
  const flags = parseFlags({
    args,
    options: {
      email: { type: "string", default: "" },
      name: { type: "string", default: "command line" },
      rights: { type: "string", default: "" },
      days: { type: "string", default: "" },
      "per-minute": { type: "string", default: "" },
      cap: { type: "string", default: "" },
      "cap-per": { type: "string", default: "month" },
    },
    required: ["email", "name"],
    usage: createApiKeyUsage,
  });
  if (!flags) return 1;
  return withServices(async (services) => {
    const rights = readRights(flags.rights);
    const days = readCount("days", flags.days, maxKeyDays);
    const perMinute = readCount("per-minute", flags["per-minute"], maxKeyPerMinute);
    const cap = readCap(flags.cap, flags["cap-per"]);
    const { id: userId } = await findAccount(services, { email: flags.email });
    const { key } = await createKey(services, { userId, name: flags.name, rights, days, perMinute, cap });
    console.log(key);
  });
}

/** Limit of the input; far above the length of any password. */
const maxPipedLength = 4_096;

/** Refuses a password among the arguments, which other users of the machine can read; true after the message on stderr. */
function refusesPasswordFlag(args: readonly string[]): boolean {
  if (!args.some((arg) => arg === "--password" || arg.startsWith("--password="))) return false;
  console.error(
    "--password is not accepted, because other users of this machine can read arguments. Leave it out: the command asks for the password on a terminal, and reads it from standard input otherwise.",
  );
  return true;
}

/** Reads one line from the terminal without showing it; null after Ctrl+C or Ctrl+D. */
async function ask(prompt: string): Promise<string | null> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reading = createInterface({ input: process.stdin, output: silent, terminal: true });
  const stop = new AbortController();
  reading.once("close", () => stop.abort());
  process.stderr.write(prompt);
  try {
    return await reading.question("", { signal: stop.signal });
  } catch (error) {
    if (stop.signal.aborted) return null;
    throw error;
  } finally {
    reading.close();
    process.stderr.write("\n");
  }
}

async function askTwice(): Promise<string | null> {
  const password = await ask("Password: ");
  if (password === null) return null;
  if ((await ask("Password again: ")) === password) return password;
  console.error("The two passwords differ.");
  return null;
}

async function readPiped(): Promise<string> {
  let text = "";
  for await (const chunk of process.stdin.setEncoding("utf8")) {
    text += String(chunk);
    if (text.length > maxPipedLength) break;
  }
  return text.split(/\r?\n/, 1)[0] ?? "";
}

/** The password for a command: asked on a terminal, else the first line of standard input. Null after a message on stderr. */
async function readPassword(): Promise<string | null> {
  const password = process.stdin.isTTY ? await askTwice() : await readPiped();
  if (password === "")
    console.error("No password was given. Type it on a terminal, or pipe it into the command.");
  return password || null;
}

const createUserUsage = "Usage: atelier create-user --email <address> [--admin]";

/** `atelier create-user`: makes an account with the password from standard input; prints its id. */
export async function createUser(args: string[]): Promise<number> {
  if (refusesPasswordFlag(args)) return 1;
  const flags = parseFlags({
    args,
    options: { email: { type: "string", default: "" }, admin: { type: "boolean", default: false } },
    required: ["email"],
    usage: createUserUsage,
  });
  const password = flags && (await readPassword());
  if (!flags || !password) return 1;
  return withServices(async (services) => {
    const { email, admin } = flags;
    const { id } = await createUserAccount(services, { email, password, isAdmin: admin });
    console.log(id);
  });
}

const resetPasswordUsage = "Usage: atelier reset-password --email <address>";

/** `atelier reset-password`: sets the password from standard input and ends all sessions of the account. */
export async function resetPassword(args: string[]): Promise<number> {
  if (refusesPasswordFlag(args)) return 1;
  const flags = parseFlags({
    args,
    options: { email: { type: "string", default: "" } },
    required: ["email"],
    usage: resetPasswordUsage,
  });
  const password = flags && (await readPassword());
  if (!flags || !password) return 1;
  return withServices(async (services) => {
    await resetAccountPassword(services, { email: flags.email, password });
    console.error(`The password of ${flags.email} is changed and all its sessions are ended.`);
    if (!services.config.signIn.passwords)
      console.error(
        `Passwords are off: an admin can sign in with it within an hour at ${originOf(services.env)}/sign-in?password=1`,
      );
  });
}

const usage = "Usage: atelier invite [--days <days>]";

/** `atelier invite`: makes an invitation for one account; stdout holds the link alone, which is shown this once. */
export async function invite(args: string[]): Promise<number> {
  const options = { days: { type: "string", default: String(invitationDays.default) } } as const;
  const flags = parseFlags({ args, options, required: ["days"], usage });
  if (!flags) return 1;
  const days = Number(flags.days);
  if (!Number.isInteger(days) || days < invitationDays.min || days > invitationDays.max) {
    console.error(
      `--days must be a whole number from ${invitationDays.min} to ${invitationDays.max}.\n${usage}`,
    );
    return 1;
  }
  return withServices(async (services) => {
    const { SIGN_UP } = services.env;
    const { token } = await createInvitation(services, { createdBy: null, days });
    if (SIGN_UP !== "invite") console.error(`SIGN_UP is ${SIGN_UP}: the link works once it is "invite".`);
    console.log(`${originOf(services.env)}/sign-in#invitation=${token}`);
  });
}
