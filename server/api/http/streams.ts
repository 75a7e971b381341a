import { AsyncResource } from "node:async_hooks";
import type { Readable } from "node:stream";
import { type Caller, resolveCaller } from "../../accounts/index.ts";
import { AppError, type Holder, takePlace } from "../../platform/index.ts";
import { boundStream, saysNothingOfCaller, streamLimits } from "../../live/index.ts";
import type { Services } from "../../services.ts";
import { streamTimesOf } from "../requests.ts";

/**
 * The body of an answer; `onServed` is called when the reader asks for more after the last byte, and not when it leaves
 * before. Nothing is read ahead of the reader, and leaving closes the source.
 */
export function servedStream(
  { later }: Pick<Services, "later">,
  source: Readable,
  onServed: () => Promise<void>,
): ReadableStream<Uint8Array> {
  // Bound to the request: the reader's calls come from elsewhere, and `later` asks the platform of the request.
  const noteServed = AsyncResource.bind(() => later(onServed()));
  // The reader receives errors through `next`; before its first read an error would have no listener.
  source.on("error", () => undefined);
  const pieces = source[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  let hasLeft = false;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (hasLeft) return;
        if (!done) {
          controller.enqueue(value);
          return;
        }
        controller.close();
        noteServed();
      },
      cancel() {
        hasLeft = true;
        source.destroy();
      },
    },
    { highWaterMark: 0 },
  );
}

interface ZipReader extends Pick<StreamReader, "caller" | "signal"> {
  /** Whether the caller may still read. */
  readonly isAllowed: () => Promise<boolean>;
}

/**
 * A zip that holds a place of the caller until it has left, or its reader has or stands still. It breaks off, so that no
 * program takes it for whole, once the caller may not read any more. Throws `rate_limited` and what opening throws.
 */
export async function zipStream(
  services: Services,
  { caller, signal, isAllowed }: ZipReader,
  open: () => Promise<Readable>,
): Promise<Readable> {
  const giveBack = takePlace(services, "stream", caller);
  try {
    const zip = await open();
    const end = holdStreamSlot(services, { caller, signal, giveBack }, () => zip.destroy(), zip);
    const timer = setInterval(() => {
      isAllowed().then(
        (is) =>
          is || zip.destroy(new AppError("unauthorized", "The key or session of this download has ended.")),
        (error: Error) => zip.destroy(error),
      );
    }, streamLimits.recheckMs);
    timer.unref();
    zip.once("close", () => {
      clearInterval(timer);
      end();
    });
    return zip;
  } catch (error) {
    giveBack();
    throw error;
  }
}

/** The answer that saves a zip under this name. */
export function zipAnswer(services: Pick<Services, "later">, zip: Readable, name: string): Response {
  return new Response(
    servedStream(services, zip, () => Promise.resolve()),
    {
      headers: {
        "Content-Type": "application/zip",
        "Content-Disposition": `attachment; filename="${name}"`,
        "Cache-Control": "private, no-store",
        "X-Content-Type-Options": "nosniff",
      },
    },
  );
}

/** Hono drops the body of an answer to HEAD as it is, which would leave its source open. */
export async function withoutBody(response: Response): Promise<Response> {
  await response.body?.cancel();
  return new Response(null, response);
}

export interface StreamReader {
  readonly caller: Holder;
  /** Aborts when the client leaves; it may have left already. */
  readonly signal: AbortSignal;
  /** Of a place that was taken before; without it one is taken. */
  readonly giveBack?: (() => void) | undefined;
}

/**
 * Counts a reader's stream until it ends: when the returned function is called, when the client leaves, or when its time is over.
 * With a `source` that time starts again at each piece that the client takes. Calls `onEnd` once at the end.
 */
export function holdStreamSlot(
  services: Services,
  reader: StreamReader,
  onEnd: () => void,
  source?: Readable,
): () => void {
  const giveBack = reader.giveBack ?? takePlace(services, "stream", reader.caller);
  let hasEnded = false;
  const end = () => {
    if (hasEnded) return;
    hasEnded = true;
    clearTimeout(timer);
    reader.signal.removeEventListener("abort", end);
    giveBack();
    onEnd();
  };
  const timer = setTimeout(end, streamTimesOf(services.env).stalledMs);
  timer.unref();
  // Paused: to listen must not make it flow.
  source?.pause().on("data", () => timer.refresh());
  // Not every server cancels the body of a client that has left.
  if (reader.signal.aborted) end();
  else reader.signal.addEventListener("abort", end, { once: true });
  return end;
}

/** Whether the request may still read. */
export async function isStillCaller(
  services: Services,
  headers: Headers,
  mayRead: (caller: Caller) => boolean = () => true,
): Promise<boolean> {
  try {
    const caller = await resolveCaller(services, headers);
    return caller !== null && mayRead(caller);
  } catch (error) {
    if (saysNothingOfCaller(error)) return true;
    throw error;
  }
}

interface EventsInput<Event> {
  readonly services: Services;
  readonly caller: Caller;
  readonly request: Request;
  /** Null keeps the connection alive. */
  open(signal: AbortSignal): AsyncGenerator<Event | null>;
  /** The event in the form of server-sent events. */
  toText(event: Event): string;
  readonly giveBack?: StreamReader["giveBack"];
  /** Whether the caller may still read. By default from the request's headers, as the studio's own API reads them. */
  readonly isAllowed?: () => Promise<boolean>;
  /** The stream ended before its first read: nothing in `open` has run. */
  onUnread?(): void;
}

/** A stream of server-sent events that takes a place of the caller, and ends with the caller's right to read. */
export function answerEvents<Event>(input: EventsInput<Event>): Response {
  const { services, caller, request } = input;
  const ended = new AbortController();
  let isRead = false;
  async function* open() {
    isRead = true;
    yield* input.open(ended.signal);
  }
  const events = boundStream(open(), {
    ...streamLimits,
    ...streamTimesOf(services.env),
    isAllowed: input.isAllowed ?? (() => isStillCaller(services, request.headers)),
  });
  const reader = { caller, signal: request.signal, giveBack: input.giveBack };
  const close = holdStreamSlot(services, reader, () => {
    ended.abort();
    void events.return(undefined);
    if (!isRead) input.onUnread?.();
  });
  const toText = (event: Event | null) => (event === null ? ": alive\n\n" : input.toText(event));
  return new Response(eventBody(events, toText, close), {
    headers: {
      "Content-Type": "text/event-stream",
      "Cache-Control": "no-store, no-transform",
      "X-Accel-Buffering": "no",
    },
  });
}

const encoder = new TextEncoder();

/** `close` is called once nothing more is read, for whatever reason. */
function eventBody<Value>(
  events: AsyncGenerator<Value>,
  toText: (value: Value) => string,
  close: () => void,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await events.next();
          if (!done) {
            controller.enqueue(encoder.encode(toText(value)));
            return;
          }
        } catch (error) {
          close();
          throw error;
        }
        close();
        controller.close();
      },
      cancel: close,
    },
    { highWaterMark: 0 },
  );
}
