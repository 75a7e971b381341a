import type { JobsUpdate } from "@atelier/server/jobs";
import type { OpenStream } from "../../app/live/stream.ts";

/** The subscription `jobs.watch` over server-sent events, as a browser with these cookies reads it. */
export function watchJobs(port: number, cookie: string): OpenStream {
  return (since, handlers) => {
    const closed = new AbortController();
    const input = JSON.stringify({ json: since === null ? {} : { since } });
    const url = `http://127.0.0.1:${port}/api/trpc/jobs.watch?input=${encodeURIComponent(input)}`;
    const read = async () => {
      const response = await fetch(url, { headers: { cookie }, signal: closed.signal });
      if (!response.ok || !response.body) throw new Error(`the stream answered ${response.status}`);
      handlers.onOpen();
      for await (const update of readUpdates(response.body)) handlers.onUpdate(update);
    };
    read()
      .catch(() => undefined)
      .finally(() => handlers.onLost());
    return () => closed.abort();
  };
}

async function* readUpdates(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<JobsUpdate> {
  let text = "";
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    text += part;
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      const fields = event.split("\n");
      // Named events are the protocol's own: connected, ping, return.
      if (fields.some((field) => field.startsWith("event:"))) continue;
      const data = fields.find((field) => field.startsWith("data:"));
      if (data) yield JSON.parse(data.slice("data:".length)).json;
    }
  }
}
