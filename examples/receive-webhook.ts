/**
 * Receives webhooks about ended jobs and believes only those that the studio has signed.
 *
 *   PORT=8787 WEBHOOK_SECRET=whsec_... node examples/receive-webhook.ts
 *
 * The secret is in the answer to `POST /api/v1/webhooks` with `{"url": "https://..."}`. The studio sends to public https
 * addresses; for a receiver on this machine name it in `ALLOWED_PRIVATE_HOSTS` of the pages and of the worker.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";

const { PORT = "8787", WEBHOOK_SECRET = "" } = process.env;
const key = Buffer.from(WEBHOOK_SECRET.replace("whsec_", ""), "base64");
// With an empty key everybody could sign.
if (key.length === 0) throw new Error("WEBHOOK_SECRET is missing");

/** Older ones may be recorded and sent again by somebody else. */
const toleranceS = 300;

/** Standard Webhooks: HMAC-SHA256 over id, time and the body exactly as it came. After a rotation there are two signatures. */
function isSigned(headers: IncomingHttpHeaders, body: string): boolean {
  const [id, time, signatures] = ["id", "timestamp", "signature"].map((name) =>
    String(headers[`webhook-${name}`]),
  );
  const isNew = Math.abs(Date.now() / 1_000 - Number(time)) <= toleranceS;
  const wanted = Buffer.from(createHmac("sha256", key).update(`${id}.${time}.${body}`).digest("base64"));
  return (signatures ?? "").split(" ").some((one) => {
    const given = Buffer.from(one.replace("v1,", ""));
    return isNew && given.length === wanted.length && timingSafeEqual(given, wanted);
  });
}

/** A message may come twice, with the same id: after a lost answer the studio cannot know that it arrived. */
const seen = new Set<string>();

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request);
  if (!isSigned(request.headers, body)) {
    console.log("refused: not signed by the studio");
    response.writeHead(401).end();
    return;
  }
  // Answer soon, then work: what is not answered within 20 s is sent again.
  response.writeHead(204).end();
  const id = String(request.headers["webhook-id"]);
  if (seen.has(id)) {
    console.log(`known: ${id}`);
    return;
  }
  seen.add(id);
  const { type, data } = JSON.parse(body);
  console.log(`${type} ${data.id ?? ""} ${data.outputs?.[0]?.url ?? ""}`);
}

const server = createServer((request, response) => {
  // The sender closed the connection before its message was complete.
  receive(request, response).catch(() => response.destroy());
});
server.listen(Number(PORT), "127.0.0.1", () => console.log(`listens on http://127.0.0.1:${PORT}`));
