/**
 * Uploads a picture, has it made twice as large, waits, and saves the result:
 *
 *   APP_URL=http://localhost:3000 ATELIER_API_KEY=... node examples/submit-and-wait.ts photo.jpg large.png
 *
 * A key comes from the settings page or from `atelier create-api-key`.
 */
import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const { APP_URL = "http://localhost:3000", ATELIER_API_KEY = "" } = process.env;
const [photo = "", target = "result.png"] = process.argv.slice(2);

interface Job {
  readonly status: string;
  readonly progress: number;
  readonly error?: { readonly code: string; readonly message: string };
  readonly outputs: readonly { readonly url: string }[];
}

/** Asks the API. Errors are problem documents (RFC 9457): `code` is for programs, `detail` for people. */
async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("Authorization", `Bearer ${ATELIER_API_KEY}`);
  const answer = await fetch(new URL(path, APP_URL), { ...init, headers });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
  return answer;
}

async function upload(file: string): Promise<string> {
  const body = new FormData();
  body.append("file", new Blob([await readFile(file)]), file);
  const { id }: { id: string } = await (await ask("/api/v1/uploads", { method: "POST", body })).json();
  return id;
}

const image = await upload(photo);
const submitted = await ask("/api/v1/jobs", {
  method: "POST",
  // The key makes a retry safe: sending the request again with it returns the same job.
  headers: { "Content-Type": "application/json", "Idempotency-Key": randomUUID() },
  body: JSON.stringify({ kind: "upscale", params: { scale: 2 }, inputs: { image } }),
});
const { id }: { id: string } = await submitted.json();

let job: Job;
do {
  await sleep(500);
  job = await (await ask(`/api/v1/jobs/${id}`)).json();
  console.log(`${job.status} ${Math.round(job.progress * 100)} %`);
} while (!["completed", "failed", "cancelled"].includes(job.status));

const [result] = job.outputs;
if (!result) throw new Error(`${job.status}: ${job.error?.message ?? "no result"}`);
await writeFile(target, await (await ask(result.url)).bytes());
console.log(`saved ${target}`);
