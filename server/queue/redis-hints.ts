import { Redis } from "ioredis";
import type { OnConnectionError } from "./connection.ts";
import type { HintTransport } from "./hint-channel.ts";

const channel = "atelier:hints";

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
  return {
    maxBytes: 512 * 1024,
    async send(text) {
      await publisher.publish(channel, text);
    },
    listen(onText) {
      subscriber.on("message", (_channel, text) => onText(text));
      // On every connection: a subscription that failed because Redis was away at the start is not resumed by itself.
      subscriber.on("ready", () => {
        subscriber.subscribe(channel).catch(onError);
      });
      subscriber.connect().catch(onError);
    },
    async close() {
      publisher.disconnect();
      subscriber.disconnect();
      await Promise.resolve();
    },
  };
}
