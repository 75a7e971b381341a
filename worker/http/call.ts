import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import type { Services } from "@atelier/server/services";
import type { WorkerView } from "./worker-view.ts";

/** A request whose sender is known. */
export interface Call {
  readonly services: Services;
  /** Null while the worker starts. */
  readonly worker: WorkerView | null;
  readonly request: IncomingMessage;
  /** What the route's pattern took out of the path. */
  readonly id: string;
  readonly query: URLSearchParams;
}

/** What is sent back: JSON, or a stream. */
export type Answer =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly json: unknown }
  | {
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly stream: Readable;
      /** Called after the last byte. */
      readonly onSent: () => Promise<void>;
    };

export type Handle = (call: Call) => Promise<Answer>;
