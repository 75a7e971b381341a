import type { IncomingMessage } from "node:http";
import type { ProviderName } from "@atelier/server/providers";

/**
 * What goes wrong: `refuse` answers 503, `rate` 429, `hang` nothing, `garbage` a page of a proxy; `drop` accepts and then
 * cuts the connection before the answer, `mute` accepts and never answers; `auth`, `credit` and `busy` are refusals in the
 * provider's own words.
 */
export type ProviderFault =
  | "refuse"
  | "rate"
  | "hang"
  | "garbage"
  | "drop"
  | "mute"
  | "auth"
  | "credit"
  | "busy";

/** Of the address of a result: as above; `half` sends half of the picture and then nothing more. */
export type PictureFault = "refuse" | "hang" | "garbage" | "half";

/** How runs end. */
type RunEnd = "succeeded" | "failed" | "moderated" | "never";

export interface SimRun {
  readonly id: string;
  readonly endpoint: string;
  /** The whole body of the submit; tests find their job by its prompt. */
  readonly input: unknown;
  readonly webhookUrl: string | null;
  readonly idempotencyKey: string | null;
  readonly createdAt: Date;
  state: "queued" | "running" | "succeeded" | "failed" | "moderated" | "cancelled";
}

export interface SimRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage["headers"];
  readonly raw: Buffer;
  readonly json: Readonly<Record<string, unknown>>;
}

export interface SimAnswer {
  readonly status: number;
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The interface of one provider. */
export interface Vendor {
  readonly name: ProviderName;
  isSubmit(request: SimRequest): boolean;
  handle(simulator: Simulator, request: SimRequest): Promise<SimAnswer> | SimAnswer;
  /** Null where a provider has no such refusal. */
  refusal(fault: "rate" | "auth" | "credit" | "busy"): SimAnswer | null;
  /** Body and headers of the report of an ended run; null where a provider sends none. */
  webhook?(
    simulator: Simulator,
    run: SimRun,
  ): { readonly body: string; readonly headers: Record<string, string> };
}

/** A simulated provider, which notes each request and what it would have charged. Not a provider: for tests alone. */
export interface Simulator {
  readonly name: ProviderName;
  readonly origin: string;
  readonly runs: Map<string, SimRun>;
  /** Submits that reached it. */
  readonly submits: SimRequest[];
  /** Of submits. */
  fault: ProviderFault | null;
  /** Of other requests. */
  getFault: ProviderFault | null;
  pictureFault: PictureFault | null;
  /** What the next upload of an input picture waits for. */
  heldUpload: Promise<void> | null;
  /** How often an input picture was sent. */
  uploads: number;
  /** How often a result was asked for. */
  fetches: number;
  end: RunEnd;
  /** How long a run takes. */
  runMs: number;
  /** How long a submit takes to arrive, its answer to come back, and a result to be sent. */
  delayMs: number;
  /** How often each end is reported; 0: never. */
  webhooks: number;
  /** Names the run that a submit started, or finds it again under its idempotency key. */
  start(run: Pick<SimRun, "endpoint" | "input" | "webhookUrl"> & { idempotencyKey?: string | null }): SimRun;
  /** Ends a run now, and reports it. */
  finish(run: SimRun, state: SimRun["state"]): void;
  /** Where its results are fetched; its own address by default. */
  pictureOrigin: string;
  pictureUrl(run: SimRun): string;
  picture(): Promise<Buffer>;
  report(run: SimRun): Promise<number>;
  /** Runs that a bill would name: those that made a picture. */
  charged(): SimRun[];
  close(): Promise<void>;
}
