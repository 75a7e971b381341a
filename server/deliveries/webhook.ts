import { createHmac } from "node:crypto";
import { and, eq } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { AppError, type Env, isAppError, retryAfterOf, safeFetch } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type Channel, DeliveryError, type OwedDelivery } from "./channel.ts";
import { openSecret } from "./sealed-secret.ts";
import { type MessageBatch, type MessageJob, readMessageBatch, readMessageJob } from "./message.ts";

const { webhookEndpoints } = schema;

/** The longest wait for one receiver's answer. */
const answerMs = 20_000;
/** The body of an answer has no meaning: what fails in it is no reason to send again. */
const maxAnswerBytes = 64 * 1024;
const secretPrefix = "whsec_";

/** Webhooks after the Standard Webhooks specification: signed, without redirects, to public addresses only. */
export const webhookChannel: Channel = {
  name: "webhook",
  async send(services, delivery, signal) {
    const receiver = await findReceiver(services, delivery);
    const body = JSON.stringify(await bodyOf(services, delivery));
    const timestamp = Math.floor(Date.now() / 1_000);
    const signature = signatureOf({ id: delivery.id, timestamp, body }, receiver.secrets);
    const answer = await safeFetch(receiver.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "webhook-id": delivery.id,
        "webhook-timestamp": String(timestamp),
        ...(signature === "" ? {} : { "webhook-signature": signature }),
      },
      body,
      signal,
      timeoutMs: answerMs,
      maxBytes: maxAnswerBytes,
      maxRedirects: 0,
      isStatusEnough: true,
      allowPrivate: services.env.ALLOWED_PRIVATE_HOSTS,
    }).catch((error: unknown) => {
      throw inWords(error);
    });
    requireTaken(answer);
    return { externalId: null };
  },
};

interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** Why no answer came, for the owner. */
function inWords(error: unknown): unknown {
  if (!isAppError(error)) return error;
  const kind = error.code === "url_refused" ? "refused" : "retry";
  return new DeliveryError(kind, error.message, { cause: error });
}

const gone = 410;

function requireTaken({ status, headers }: Answered): void {
  if (status >= 200 && status < 300) return;
  if (status === gone) throw new DeliveryError("gone", "The receiver answered that it is gone.", { status });
  const why = status >= 300 && status < 400 ? "a redirect, which is not followed" : `status ${status}`;
  throw new DeliveryError("retry", `The receiver answered with ${why}.`, {
    status,
    retryAfterMs: retryAfterOf({ status, headers }),
  });
}

interface Receiver {
  readonly url: string;
  readonly secrets: readonly string[];
}

/** The endpoint of a delivery; or the address that the job named, for which the owner may have a secret as well. */
async function findReceiver({ db, env }: Services, { target, ownerId }: OwedDelivery): Promise<Receiver> {
  const rows = await db.select().from(webhookEndpoints).where(eq(webhookEndpoints.ownerId, ownerId));
  if (target.includes("://")) {
    const signing = rows.find(({ url }) => url === null);
    return { url: target, secrets: signing ? activeSecrets(env, signing) : [] };
  }
  const endpoint = rows.find(({ id }) => id === target);
  if (!endpoint?.url) throw new DeliveryError("gone", "The endpoint was deleted.");
  if (!endpoint.isEnabled) throw new DeliveryError("refused", "The endpoint is disabled.");
  return { url: endpoint.url, secrets: activeSecrets(env, endpoint) };
}

type EndpointRow = typeof webhookEndpoints.$inferSelect;

/** The secrets that sign now. Throws `retry` when this process cannot read the newest: nothing goes out unsigned. */
function activeSecrets(env: Env, { id, secret, previousSecret, previousUntil }: EndpointRow): string[] {
  const current = openSecret(env, id, secret);
  if (current === null)
    throw new DeliveryError(
      "retry",
      "Its secret cannot be read with the AUTH_SECRET of the process that sends. Make a new secret.",
    );
  const isWithin = previousUntil !== null && previousUntil > new Date();
  const previous = isWithin && previousSecret !== null ? openSecret(env, id, previousSecret) : null;
  return previous === null ? [current] : [current, previous];
}

export interface SignedContent {
  readonly id: string;
  /** Seconds of this attempt. */
  readonly timestamp: number;
  readonly body: string;
}

/** One signature per secret, separated by blanks; empty without a secret. */
export function signatureOf({ id, timestamp, body }: SignedContent, secrets: readonly string[]): string {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(secretPrefix.length), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
  });
  return signatures.join(" ");
}

/** The secret in the form of the specification. */
export function toSecret(key: Buffer): string {
  return `${secretPrefix}${key.toString("base64")}`;
}

/** The JSON that receivers get; docs/delivery.md describes it. */
interface WebhookBody {
  readonly type: string;
  readonly timestamp: string;
  readonly data: MessageJob | MessageBatch | { readonly endpointId: string };
}

async function bodyOf(services: Services, delivery: OwedDelivery): Promise<WebhookBody> {
  const { event: type, jobId, batchId, target } = delivery;
  if (batchId !== null) {
    const batch = await readMessageBatch(services, batchId);
    return { type, timestamp: batch.endedAt ?? batch.createdAt, data: batch };
  }
  if (jobId === null) return { type, timestamp: new Date().toISOString(), data: { endpointId: target } };
  const job = await readMessageJob(services, delivery);
  return { type, timestamp: job.endedAt ?? job.createdAt, data: job };
}

/** The enabled endpoint of an owner. Throws `not_found`, and `conflict` for one that gets nothing. */
export async function requireTestable(
  { db, env }: Services,
  { ownerId, id }: { ownerId: string; id: string },
): Promise<void> {
  const [row] = await db
    .select()
    .from(webhookEndpoints)
    .where(and(eq(webhookEndpoints.id, id), eq(webhookEndpoints.ownerId, ownerId)));
  if (!row) throw new AppError("not_found");
  if (row.url === null || !row.isEnabled) throw new AppError("conflict", "The endpoint is not enabled.");
  if (openSecret(env, id, row.secret) === null)
    throw new AppError("conflict", "Its secret cannot be read any more. Make a new secret.");
}
