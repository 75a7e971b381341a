import { AsyncLocalStorage } from "node:async_hooks";
import { callTRPCProcedure, getTRPCErrorShape } from "@trpc/server";
import { parseRequest } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { currentWords, retellAll } from "../../words.ts";
import { createContext, t, type TrpcContext, toTrpcError } from "./init.ts";
import { jobsRouter, type LiveUpdate } from "./jobs.ts";
import { readInput, writeAnswer } from "./wire.ts";

/** The subscription that is answered here; `jobs.ts` has its procedure. */
export const livePath = "jobs.watch";

const router = t.router({ jobs: jobsRouter });

const headers = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  // Of nginx, which else gathers what is sent.
  "x-accel-buffering": "no",
};
/** Browsers connect again after this time without an update; `alive` comes every ten seconds. */
const connected = { reconnectAfterInactivityMs: 25_000 };

const encoder = new TextEncoder();
const event = (name: string, data: unknown) =>
  encoder.encode(`event: ${name}\ndata: ${data === null ? "" : JSON.stringify(data)}\n\n`);

const encoded = new WeakMap<object, Map<string, Uint8Array>>();

/** An update as its event. All streams of an owner share the update, which is serialised once for each language. */
function encode(update: object): Uint8Array {
  const { locale } = currentWords();
  const known = encoded.get(update) ?? new Map<string, Uint8Array>();
  encoded.set(update, known);
  const bytes =
    known.get(locale) ?? encoder.encode(`data: ${JSON.stringify(writeAnswer(retellAll(update)))}\n\n`);
  known.set(locale, bytes);
  return bytes;
}

/**
 * Answers the live stream with the events of tRPC, which its client reads, errors among them: a browser shows no page the
 * body of another answer to an event stream. tRPC's own answer serialises each update for each stream and passes it
 * through three more streams, which with thousands of readers is most of the work (P6).
 */
export async function answerLive(services: Services, request: Request): Promise<Response> {
  const ctx = createContext(services, request);
  const left = new AbortController();
  const signal = AbortSignal.any([request.signal, left.signal]);
  const updates = await subscribe(ctx, request, signal).catch(failed);
  return new Response(
    toEvents(ctx, updates, () => left.abort()),
    { headers },
  );
}

async function subscribe(
  ctx: TrpcContext,
  request: Request,
  signal: AbortSignal,
): Promise<AsyncIterator<LiveUpdate>> {
  const updates: unknown = await callTRPCProcedure({
    router,
    path: livePath,
    getRawInput: async () => inputOf(request),
    ctx,
    type: "subscription",
    signal,
    batchIndex: 0,
  });
  // Safe: the procedure gives a generator of these.
  return (updates as AsyncIterable<LiveUpdate>)[Symbol.asyncIterator]();
}

function inputOf({ url }: Request): unknown {
  const text = new URL(url).searchParams.get("input");
  if (text === null) return undefined;
  return readInput(parseRequest(text));
}

/** Updates that begin with an error. */
async function* failed(error: unknown): AsyncGenerator<LiveUpdate> {
  yield* [];
  throw error;
}

function shapeOf(ctx: TrpcContext, thrown: unknown) {
  const { _config: config } = t;
  const error = toTrpcError(thrown);
  return getTRPCErrorShape({ config, error, type: "subscription", path: livePath, input: undefined, ctx });
}

/** Readers are told that the answer goes on while its first rows are read; later `alive` does. */
const pingMs = 10_000;

/** Reads an update whenever the reader takes one, so that a slow reader fills its mailbox alone. */
function toEvents(
  ctx: TrpcContext,
  updates: AsyncIterator<LiveUpdate>,
  onLeft: () => void,
): ReadableStream<Uint8Array> {
  // The server reads outside of the request, and `later` asks the platform of the request.
  const inRequest = AsyncLocalStorage.snapshot();
  let ping: NodeJS.Timeout | undefined;
  const readNext = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    try {
      const { done, value } = await updates.next();
      clearInterval(ping);
      if (done !== true) return controller.enqueue(encode(value));
      controller.enqueue(event("return", null));
    } catch (thrown) {
      clearInterval(ping);
      void updates.return?.();
      controller.enqueue(event("serialized-error", writeAnswer(shapeOf(ctx, thrown))));
    }
    controller.close();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(event("connected", connected));
        ping = setInterval(() => controller.enqueue(event("ping", null)), pingMs).unref();
      },
      pull: (controller) => inRequest(readNext, controller),
      async cancel() {
        clearInterval(ping);
        onLeft();
        await inRequest(async () => updates.return?.());
      },
    },
    { highWaterMark: 0 },
  );
}
