import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";

/** Far above any password. */
const maxPipedLength = 4_096;

/** Refuses a password among the arguments, which other users of the machine can read; true after the message on stderr. */
export function refusesPasswordFlag(args: readonly string[]): boolean {
  if (!args.some((arg) => arg === "--password" || arg.startsWith("--password="))) return false;
  console.error(
    "--password is not accepted, because other users of this machine can read arguments. Leave it out: the command asks for the password on a terminal, and reads it from standard input otherwise.",
  );
  return true;
}

/** One line of a terminal, not shown; null when it is broken off by Ctrl+C or Ctrl+D. */
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
export async function readPassword(): Promise<string | null> {
  const password = process.stdin.isTTY ? await askTwice() : await readPiped();
  if (password === "")
    console.error("No password was given. Type it on a terminal, or pipe it into the command.");
  return password || null;
}
