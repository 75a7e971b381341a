import {
  clientOf,
  type ProviderAccess,
  ProviderError,
  type ProviderName,
  type Submission,
} from "@atelier/server/providers";
import { type GivenAnswer, type SeenRequest, serveAnswers } from "../http/index.ts";

/** One client with a server that answers exactly what a test says, for answers that no simulator gives by itself. */
export interface Scripted {
  readonly access: ProviderAccess;
  readonly requests: readonly SeenRequest[];
  answer: GivenAnswer | ((request: SeenRequest) => GivenAnswer);
  submit(changes?: Partial<Submission>): ReturnType<ReturnType<typeof clientOf>["submit"]>;
  get(externalId?: string): ReturnType<ReturnType<typeof clientOf>["get"]>;
  cancel(externalId?: string): ReturnType<ReturnType<typeof clientOf>["cancel"]>;
  webhook(
    body: string,
    headers?: Readonly<Record<string, string>>,
    webhookSecret?: string | null,
  ): Promise<{ externalId: string }>;
  close(): Promise<void>;
}

const plainSubmission: Submission = {
  endpoint: "model-one",
  kind: "text_to_image",
  input: { prompt: "a red door" },
  idempotencyKey: "0197a0c4-5d6e-7f80-9123-456789abcdef",
  webhookUrl: null,
  beforePaid: () => Promise.resolve(),
};

export function json(
  body: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): GivenAnswer {
  return { status, body: JSON.stringify(body), headers };
}

export async function startScripted(name: ProviderName, path = ""): Promise<Scripted> {
  const client = clientOf(name);
  const server = await serveAnswers((request) =>
    typeof scripted.answer === "function" ? scripted.answer(request) : scripted.answer,
  );
  const access = {
    name,
    baseUrl: `${server.url}${path}`,
    apiKey: `canary-key-of-${name}`,
    webhookSecret: null,
  };
  const handle = (externalId = "run-1") => ({ endpoint: "model-one", externalId, urls: {} });
  const signal = () => AbortSignal.timeout(30_000);
  const scripted: Scripted = {
    access,
    requests: server.requests,
    answer: "hang",
    submit: (changes) => client.submit(access, { ...plainSubmission, ...changes }, signal()),
    get: (externalId) => client.get(access, handle(externalId), signal()),
    cancel: (externalId) => client.cancel(access, handle(externalId), signal()),
    webhook: (body, headers = {}, webhookSecret = null) =>
      client.verifyWebhook(
        { ...access, webhookSecret },
        { rawBody: new TextEncoder().encode(body), headers },
        signal(),
      ),
    close: () => server.close(),
  };
  return scripted;
}

/** Class and wait of the error that a call ends with. */
export async function failureOf(call: Promise<unknown>): Promise<readonly [string, number | null]> {
  try {
    await call;
    return ["none", null];
  } catch (error) {
    return error instanceof ProviderError ? [error.class, error.retryAfterMs] : ["foreign", null];
  }
}

export function onlyRequest({ requests }: Scripted): SeenRequest {
  const [request] = requests;
  if (!request || requests.length > 1) throw new Error(`${requests.length} requests arrived instead of one.`);
  return request;
}
