/**
 * Sends a file straight to the image store, past the studio's own process: for large files and many clients.
 *
 *   APP_URL=http://localhost:3000 ATELIER_API_KEY=... node examples/upload-directly.ts photo.jpg
 *
 * Three steps: announce the file, PUT it to the address of the answer, finish. With a bucket (`S3_BUCKET`) that address is a
 * signed link into it; without one it is a path of the studio.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";

const { APP_URL = "http://localhost:3000", ATELIER_API_KEY = "" } = process.env;
const [file = ""] = process.argv.slice(2);

const ownHeaders = { Authorization: `Bearer ${ATELIER_API_KEY}` };

async function send(address: string | URL, init: RequestInit): Promise<Response> {
  const answer = await fetch(address, init);
  if (!answer.ok) throw new Error(`${address.toString()} answered ${answer.status}: ${await answer.text()}`);
  return answer;
}

const bytes = await readFile(file);
const begun = await send(new URL("/api/v1/uploads/direct", APP_URL), {
  method: "POST",
  headers: { ...ownHeaders, "Content-Type": "application/json" },
  body: JSON.stringify({
    name: path.basename(file),
    mime: "image/jpeg",
    sizeBytes: bytes.length,
    // Of a file that was sent before, the studio knows the hash: then there is nothing to send.
    sha256: createHash("sha256").update(bytes).digest("hex"),
  }),
});
const answer = await begun.json();
if (begun.status === 200) {
  console.log(`known as ${answer.id}`);
} else {
  const target = new URL(answer.url, APP_URL);
  const isOfStudio = answer.url.startsWith("/");
  await send(target, {
    method: "PUT",
    // Exactly the signed headers; the key belongs to the studio and goes nowhere else.
    headers: { ...answer.headers, ...(isOfStudio ? ownHeaders : {}) },
    body: bytes,
  });
  const finish = new URL(`/api/v1/uploads/direct/${answer.id}/finish`, APP_URL);
  const { id, width, height } = await (await send(finish, { method: "POST", headers: ownHeaders })).json();
  console.log(`sent to ${isOfStudio ? "the studio" : target.host}, stored as ${id}, ${width} x ${height}`);
}
