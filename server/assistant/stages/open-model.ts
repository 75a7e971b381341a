import type { EmbeddingModel, LanguageModel } from "ai";
import {
  type Env,
  inSpan,
  keyHeaders,
  outsideFetch,
  patientFetch,
  type Tracing,
} from "../../platform/index.ts";
import { embedOnboard } from "../../meaning/index.ts";
import type { Services } from "../../services.ts";
import { learnRefused, readModelNote } from "../model-notes.ts";
import { addressOf, type Host, hostOf, keyNames } from "../models.ts";
import { isFeature } from "./features.ts";
import { fetchFrom } from "./local-server.ts";
import { ModelError } from "./model-errors.ts";

const maxAnswerBytes = 8 * 1024 ** 2;

/** `fetch` of the models: no redirect, which could carry a key elsewhere, and an answer of at most 8 MiB. */
const boundedBy =
  (send: typeof outsideFetch): typeof fetch =>
  async (input, init) => {
    const response = await send(input, { ...init, redirect: "error" });
    if (!response.body) return response;
    let left = maxAnswerBytes;
    const bounded = response.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          left -= chunk.byteLength;
          if (left < 0) controller.error(tooLong());
          else controller.enqueue(chunk);
        },
      }),
    );
    const { status, statusText, headers } = response;
    return new Response(bounded, { status, statusText, headers });
  };

const tooLong = () =>
  new ModelError("invalid_output", undefined, {
    cause: new Error(`The answer has more than ${maxAnswerBytes} bytes.`),
  });

const nameOf = (id: string) => id.slice(id.indexOf("/") + 1);

function optionsOf(env: Env, host: Exclude<Host, "local">) {
  const apiKey = env[keyNames[host]];
  const baseURL = addressOf(env, host);
  return {
    ...(apiKey === undefined ? {} : { apiKey }),
    // Else the packages read it from the environment by themselves, and pictures could go to another host than the one named.
    ...(baseURL === undefined ? {} : { baseURL }),
    fetch: boundedBy(outsideFetch),
  };
}

/** What opening a model needs of a process. */
type Opening = Pick<Services, "db" | "env" | "log">;

/** Opens a model for calls. The packages are loaded with the first call: most processes make none. */
export async function openModel(services: Opening, id: string): Promise<LanguageModel> {
  const { env } = services;
  const host = hostOf(id);
  const name = nameOf(id);
  if (host === "local") return (await openLocal(services, id))(name);
  const options = optionsOf(env, host);
  if (host === "anthropic") return (await import("@ai-sdk/anthropic")).createAnthropic(options)(name);
  if (host === "google") return (await import("@ai-sdk/google")).createGoogleGenerativeAI(options)(name);
  return (await import("@ai-sdk/openai")).createOpenAI(options)(name);
}

/** Opens a model of embeddings. */
export async function openVectorModel(services: Opening, id: string): Promise<EmbeddingModel> {
  const { env } = services;
  const host = hostOf(id);
  const name = nameOf(id);
  if (host === "local") return (await openLocal(services, id)).embeddingModel(name);
  if (host === "onboard") return openOnboard(services, id);
  const options = optionsOf(env, host);
  if (host === "google")
    return (await import("@ai-sdk/google")).createGoogleGenerativeAI(options).embeddingModel(name);
  return (await import("@ai-sdk/openai")).createOpenAI(options).embeddingModel(name);
}

/** The added text model as the calls of other models know it. */
function openOnboard(services: Opening, id: string): EmbeddingModel {
  return {
    specificationVersion: "v4",
    provider: "onboard",
    modelId: id,
    maxEmbeddingsPerCall: 100,
    supportsParallelCalls: false,
    doEmbed: async ({ values, abortSignal = new AbortController().signal }) => ({
      embeddings: await embedOnboard(services, values, abortSignal),
      warnings: [],
    }),
  };
}

async function openLocal(services: Opening, id: string) {
  const { env, log } = services;
  const [{ createOpenAICompatible }, known] = await Promise.all([
    import("@ai-sdk/openai-compatible"),
    readModelNote(services, id),
  ]);
  const { origin, pathname, searchParams } = new URL(env.LLM_BASE_URL ?? "");
  const address = `${origin}${pathname}`;
  return createOpenAICompatible({
    headers: keyHeaders(env.LLM_BASE_URL ?? "", env.LLM_API_KEY),
    name: "local",
    baseURL: address,
    queryParams: Object.fromEntries(searchParams),
    supportsStructuredOutputs: true,
    includeUsage: true,
    fetch: fetchFrom({
      address,
      // A server at home may load a model, or write an answer that it does not stream, for longer than `fetch` waits.
      send: boundedBy(patientFetch),
      refused: known.refused.filter(isFeature),
      async onRefused(refused) {
        log.warn({ model: id, refused }, "a model does without what it refused");
        await learnRefused(services, id, refused).catch((error: unknown) =>
          log.warn({ err: error }, "what a model refused could not be stored"),
        );
      },
    }),
  });
}

interface TracedCall {
  readonly stage: string;
  readonly model: { readonly id: string };
  readonly runId: string | null;
}

interface Used {
  readonly usage: { readonly inputTokens: number | undefined; readonly outputTokens: number | undefined };
}

/** A call with the tokens that it took, as the conventions for generative AI name them; no words of it. */
export function inCallSpan<T extends Used>(
  tracing: Tracing | null | undefined,
  { stage, model, runId }: TracedCall,
  work: () => Promise<T>,
): Promise<T> {
  const attributes = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": hostOf(model.id),
    "gen_ai.request.model": model.id,
    "atelier.assistant.stage": stage,
    "atelier.run.id": runId,
  };
  return inSpan(tracing ?? null, `chat ${model.id}`, { kind: "client", attributes }, async (span) => {
    const result = await work();
    const { inputTokens, outputTokens } = result.usage;
    span?.set({ "gen_ai.usage.input_tokens": inputTokens, "gen_ai.usage.output_tokens": outputTokens });
    return result;
  });
}
