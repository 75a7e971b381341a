import type { ChannelName } from "../db/index.ts";
import type { Services } from "../services.ts";

/** What a channel is given to send. `id` is the same in every attempt: receivers know a repetition by it. */
export interface OwedDelivery {
  readonly id: string;
  /** Null for a batch, a test of an endpoint and a change of an account. */
  readonly jobId: string | null;
  readonly batchId: string | null;
  readonly ownerId: string;
  readonly channel: ChannelName;
  /** The receiver in the terms of the channel: an endpoint's id or a URL, an e-mail address, a chat's id. */
  readonly target: string;
  readonly event: DeliveryEvent;
  /** Number of this attempt, from 1. */
  readonly attempt: number;
}

export type DeliveryEvent =
  | "job.completed"
  | "job.failed"
  | "batch.completed"
  | "endpoint.test"
  /** How an account is signed in to has changed: by e-mail alone, whatever its user has chosen. */
  | "account.changed";

/** A way to reach a user. A new channel needs a name in the schema and its place in the list of the worker. */
export interface Channel {
  readonly name: ChannelName;
  /**
   * Sends once and resolves when the receiver has taken it, with the receiver's id of the message if it gives one. Throws
   * a `DeliveryError`; any other error counts as `retry`. It must end soon after the abort of the signal.
   */
  send(
    services: Services,
    delivery: OwedDelivery,
    signal: AbortSignal,
  ): Promise<{ readonly externalId: string | null }>;
}

/**
 * `retry`: another attempt may succeed; `gone`: the target no longer exists and gets nothing more; `refused`: this
 * delivery will never be taken.
 */
export type DeliveryErrorKind = "retry" | "gone" | "refused";

/** The message is shown to the owner and stored: it names no secret and quotes no answer. */
export class DeliveryError extends Error {
  readonly kind: DeliveryErrorKind;
  /** When the receiver said how long to wait. */
  readonly retryAfterMs: number | null;
  /** HTTP status of the receiver's answer. */
  readonly status: number | null;

  constructor(
    kind: DeliveryErrorKind,
    message: string,
    options: ErrorOptions & { readonly retryAfterMs?: number | null; readonly status?: number | null } = {},
  ) {
    super(message, options);
    this.name = "DeliveryError";
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.status = options.status ?? null;
  }
}
