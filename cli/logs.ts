import { type JobLog, readJobLogs, readNodeLogs } from "@atelier/server/jobs";
import { withServices } from "./database.ts";
import { parseFlags } from "./flags.ts";

const usage = "Usage: atelier logs --job <id> | --node <name>";

/** `atelier logs`: prints the stored log lines of a job, or the newest of a node's jobs, oldest first. */
export async function logs(args: string[]): Promise<number> {
  const options = { job: { type: "string", default: "" }, node: { type: "string", default: "" } } as const;
  const flags = parseFlags({ args, options, required: [], usage });
  if (!flags) return 1;
  const { job: id, node: name } = flags;
  if ((id === "") === (name === "")) {
    console.error(`Name a job or a node.\n${usage}`);
    return 1;
  }
  return withServices(async (services) => {
    const isOfNode = id === "";
    const lines = isOfNode ? await readNodeLogs(services, { name }) : await readJobLogs(services, { id });
    for (const line of lines) console.log(toText(line, isOfNode));
    if (lines.length === 0) console.error("No log lines are stored.");
  });
}

/** One line for a terminal: time, level, process or node, job if asked for, message, and the data as `name=value`. */
function toText({ at, level, node, process, jobId, message, data }: JobLog, isWithJob: boolean): string {
  const { err, ...rest } = data;
  const last = err === undefined ? {} : { err: errorText(err) };
  const fields = Object.entries({ ...(isWithJob ? { job: jobId } : {}), ...rest, ...last });
  const shown = fields.map(([name, value]) => `${name}=${toValue(value)}`);
  return [at, level.padEnd(5), plain(node ?? process), plain(message), ...shown].join(" ");
}

/** The messages of an error and its causes. */
function errorText(error: unknown): unknown {
  if (typeof error !== "object" || error === null) return error;
  const { type, message, cause } = error as Record<string, unknown>;
  const own = `${String(type)}: ${String(message)}`;
  return cause === undefined ? own : `${own}, caused by ${String(errorText(cause))}`;
}

/** Quoted unless it is one word. */
function toValue(value: unknown): string {
  return typeof value === "string" && /^[\w.:/@+-]+$/.test(value) ? value : plain(JSON.stringify(value));
}

/** Without control characters, which could steer the terminal. */
const plain = (text: string) => text.replaceAll(/\p{Cc}/gu, " ");
