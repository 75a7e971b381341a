import { Redis } from "ioredis";
import type { OnConnectionError } from "./connection.ts";
import type { HintChannelName, HintTransport } from "./hints.ts";

const nameOf = (channel: HintChannelName) => `atelier:${channel}`;

/** Publish and subscribe of Redis; both connections reconnect by themselves. */
export function redisHints(url: string, onError: OnConnectionError): HintTransport {
  const open = () => {
    const client = new Redis(url, {
      lazyConnect: true,
      connectTimeout: 5_000,
      autoResubscribe: false,
      maxRetriesPerRequest: 1,
    });
    client.on("error", onError);
    return client;
  };
  const publisher = open();
  const subscriber = open();
  const listeners = new Map<string, (text: string) => void>();
  const subscribe = () => void subscriber.subscribe(...listeners.keys()).catch(onError);
  subscriber.on("message", (name, text) => listeners.get(name)?.(text));
  // On every connection: a subscription that failed because Redis was away at the start is not resumed by itself.
  subscriber.on("ready", subscribe);
  return {
    async send(channel, text) {
      await publisher.publish(nameOf(channel), text);
    },
    listen(channel, onText) {
      listeners.set(nameOf(channel), onText);
      if (subscriber.status === "ready") subscribe();
      if (subscriber.status === "wait") subscriber.connect().catch(onError);
    },
    async close() {
      publisher.disconnect();
      subscriber.disconnect();
      await Promise.resolve();
    },
  };
}
