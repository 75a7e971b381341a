import { coalesceHints } from "./coalesce-hints.ts";
import type { HintMessage, Hints, LiveProgress } from "./port.ts";

export type HintChannelName = "hints" | "progress";

/** What a backend must do for hints: carry texts between processes. */
export interface HintTransport {
  send(channel: HintChannelName, text: string): Promise<void>;
  /** Called once for each channel, on its first subscription. */
  listen(channel: HintChannelName, onText: (text: string) => void): void;
  close(): Promise<void>;
}

const itemsPerMessage = 60;

/** Builds the hints of a process on a transport; a lost message is logged by the transport and costs a second at most. */
export function createHintChannel(transport: HintTransport, onError: (error: Error) => void): Hints {
  const listeners = new Set<(message: HintMessage) => void>();
  const progressListeners = new Set<(progress: LiveProgress) => void>();
  const listened = new Set<HintChannelName>();

  const send = (channel: HintChannelName, message: HintMessage) => {
    transport.send(channel, JSON.stringify(message)).catch(onError);
  };
  const jobs = coalesceHints((hints) => {
    for (const part of inParts(hints)) send("hints", { type: "jobs", jobs: part });
  });
  const receive = (text: string) => {
    try {
      const message: HintMessage = JSON.parse(text);
      if (message.type === "progress") for (const listener of progressListeners) listener(message.progress);
      else for (const listener of listeners) listener(message);
    } catch (error) {
      // The channel is open to whoever reaches the server: a foreign text must not end the process.
      onError(error instanceof Error ? error : new Error(String(error)));
    }
  };
  const listen = (channel: HintChannelName) => {
    if (listened.has(channel)) return;
    listened.add(channel);
    transport.listen(channel, receive);
  };

  return {
    publish(message) {
      if (message.type === "jobs") jobs.add(message.jobs);
      else if (message.type === "watched")
        for (const jobIds of inParts(message.jobIds)) send("hints", { ...message, jobIds });
      else send(message.type === "progress" ? "progress" : "hints", message);
    },
    subscribe(listener) {
      listeners.add(listener);
      listen("hints");
      return () => listeners.delete(listener);
    },
    subscribeProgress(listener) {
      progressListeners.add(listener);
      listen("progress");
      return () => progressListeners.delete(listener);
    },
    async close() {
      jobs.flush();
      listeners.clear();
      progressListeners.clear();
      await transport.close();
    },
  };
}

function inParts<Item>(items: readonly Item[]): Item[][] {
  const parts: Item[][] = [];
  for (let start = 0; start < items.length; start += itemsPerMessage)
    parts.push(items.slice(start, start + itemsPerMessage));
  return parts;
}
