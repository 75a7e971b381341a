/** Prints the hints of a running studio until Ctrl+C: what its processes tell each other after a change of a job. */
import { existsSync } from "node:fs";
import { parseEnv } from "@atelier/server/platform";
import { createHints, queueConnection } from "@atelier/server/queue";
import { openPostgres } from "./embedded/postgres.ts";

if (existsSync(".env")) process.loadEnvFile(".env");
const embedded = process.env["DATABASE_URL"]
  ? null
  : await openPostgres({ dataDir: process.env["ATELIER_DATA_DIR"] || ".data" });
const url = process.env["DATABASE_URL"] || (embedded?.url ?? "");
const { env, problems } = parseEnv({ ...process.env, DATABASE_URL: url });
if (!env) throw new Error(problems.map(({ name, message }) => `${name} ${message}`).join("\n"));
const hints = createHints(queueConnection(env, url), {
  onError: (error) => console.error(`not connected: ${error.message}`),
  later: (work) => void work.catch(() => undefined),
});
const print = (message: object) => console.log(`${new Date().toISOString()} ${JSON.stringify(message)}`);
hints.subscribe(print);
hints.subscribeLive((message) => {
  if (message.type === "answer") {
    const { runId, at, text } = message.words;
    print({ type: "answer", runId, at, chars: text.length });
    return;
  }
  const { preview, progress, ...rest } = message.progress;
  const previewBytes = preview === undefined ? {} : { previewBytes: Buffer.byteLength(preview, "base64") };
  print({ type: "progress", ...rest, progress: Number(progress.toFixed(2)), ...previewBytes });
});
process.once("SIGINT", () => void hints.close().then(() => embedded?.close()));
