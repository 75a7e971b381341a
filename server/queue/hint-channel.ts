import { coalesceHints } from "./coalesce-hints.ts";
import type { HintMessage, Hints } from "./port.ts";

/** What a backend must do for hints: carry texts between processes. */
export interface HintTransport {
  send(text: string): Promise<void>;
  /** Called once, on the first subscription. */
  listen(onText: (text: string) => void): void;
  /** Largest text it carries, in bytes. */
  readonly maxBytes: number;
  close(): Promise<void>;
}

const hintsPerMessage = 60;

/** Builds the hints of a process on a transport; a lost message is logged by the transport and costs a second at most. */
export function createHintChannel(transport: HintTransport, onError: (error: Error) => void): Hints {
  const listeners = new Set<(message: HintMessage) => void>();
  let listening = false;

  const send = (message: HintMessage) => {
    const text = fit(message, transport.maxBytes);
    transport.send(text).catch(onError);
  };
  const jobs = coalesceHints((hints) => {
    for (let start = 0; start < hints.length; start += hintsPerMessage) {
      send({ type: "jobs", jobs: hints.slice(start, start + hintsPerMessage) });
    }
  });
  const receive = (text: string) => {
    try {
      const message: HintMessage = JSON.parse(text);
      for (const listener of listeners) listener(message);
    } catch (error) {
      // The channel is open to whoever reaches the server: a foreign text must not end the process.
      onError(error instanceof Error ? error : new Error(String(error)));
    }
  };

  return {
    publish(message) {
      if (message.type === "jobs") jobs.add(message.jobs);
      else send(message);
    },
    subscribe(listener) {
      listeners.add(listener);
      if (!listening) {
        listening = true;
        transport.listen(receive);
      }
      return () => listeners.delete(listener);
    },
    async close() {
      jobs.flush();
      listeners.clear();
      await transport.close();
    },
  };
}

/** Leaves out the preview when the message would be too long for the transport. */
function fit(message: HintMessage, maxBytes: number): string {
  const text = JSON.stringify(message);
  if (Buffer.byteLength(text) <= maxBytes || message.type !== "progress") return text;
  const { preview: _dropped, ...progress } = message.progress;
  return JSON.stringify({ type: "progress", progress });
}
