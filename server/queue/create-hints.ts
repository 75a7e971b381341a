import type { OnConnectionError, QueueConnection } from "./connection.ts";
import { createHintChannel } from "./hints.ts";
import { postgresHints } from "./postgres.ts";
import type { Hints } from "./port.ts";
import { redisHints } from "./redis.ts";

/** Opens the hints of a process; nothing connects before the first publish or subscription. */
export function createHints(connection: QueueConnection, onError: OnConnectionError): Hints {
  const open = connection.backend === "redis" ? redisHints : postgresHints;
  return createHintChannel(open(connection.url, onError), onError);
}
