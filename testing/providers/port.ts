import type { IncomingMessage } from "node:http";
import type { ProviderName } from "@atelier/server/providers";

/**
 * What goes wrong: `refuse` answers 503, `gateway` 502, `hang` nothing, `garbage` a page of a proxy, `redirect` another
 * address, `flood` without an end; `drop` accepts and then cuts the connection before the answer, `mute` accepts and never
 * answers, `cut` answers and breaks the connection before the answer is marked as ended. The others are refusals in the provider's own words.
 */
export type ProviderFault =
  | "refuse"
  | "gateway"
  | "hang"
  | "garbage"
  | "redirect"
  | "flood"
  | "drop"
  | "mute"
  | "cut"
  | Refusal;

/** Too many requests, the quota of the day is used, a wrong key, no money, too many runs, wrong fields. */
export type Refusal = "rate" | "quota" | "auth" | "credit" | "busy" | "input";

/** Of the address of a result: as above; `half` sends half of the picture and then nothing more. */
export type PictureFault = "refuse" | "hang" | "garbage" | "half";

/** What a model says that does not want to. */
export const refusalText = "I cannot make this picture, since it shows a real person.";

/**
 * How runs end. `flagged`: with a picture beside a flag which says that it is not to be shown; `refused`: with a sentence
 * instead of a picture, and no code.
 */
type RunEnd = "succeeded" | "failed" | "moderated" | "flagged" | "refused" | "never";

/** How a picture is named in a result: by its address, or as text with its bytes. */
export type PictureForm = "address" | "data uri" | "percent-encoded" | "base64" | "base64 with a prefix";

export interface SimRun {
  readonly id: string;
  readonly endpoint: string;
  /** The whole body of the submit; tests find their job by its prompt. */
  readonly input: unknown;
  readonly webhookUrl: string | null;
  readonly idempotencyKey: string | null;
  /** Kinds of reports that the submit asked for; null: all (Replicate). */
  readonly events: readonly string[] | null;
  readonly createdAt: Date;
  state: "queued" | "running" | "succeeded" | "failed" | "moderated" | "flagged" | "refused" | "cancelled";
}

/** What a submit says of its run. */
type SubmittedRun = Pick<SimRun, "endpoint" | "input" | "webhookUrl"> &
  Partial<Pick<SimRun, "idempotencyKey" | "events">>;

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

export interface SimWebhook {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The interface of one provider. */
export interface Vendor {
  readonly name: ProviderName;
  isSubmit(request: SimRequest): boolean;
  handle(simulator: Simulator, request: SimRequest): Promise<SimAnswer> | SimAnswer;
  /** Null where a provider has no such refusal. */
  refusal(fault: Refusal, simulator: Simulator): SimAnswer | null;
  /** Body and headers of each report of an ended run, in their order; missing where a provider sends none. */
  webhooks?(simulator: Simulator, run: SimRun): readonly SimWebhook[];
}

/** A simulated provider, which notes each request and what it would have charged. Not a provider: for tests alone. */
export interface Simulator {
  readonly name: ProviderName;
  readonly origin: string;
  readonly runs: Map<string, SimRun>;
  /** Submits that reached it. */
  readonly submits: SimRequest[];
  /** Method and path of each request that reached it, those for results aside. */
  readonly calls: string[];
  /** Callers that left before their answer. */
  left: number;
  /** Of submits. */
  fault: ProviderFault | null;
  /** Of other requests. */
  getFault: ProviderFault | null;
  pictureFault: PictureFault | null;
  /** What the next upload of an input picture waits for. */
  heldUpload: Promise<void> | null;
  /** What the answers to submits wait for. */
  heldAnswers: Promise<void> | null;
  /** `blocked`: the firewall in front of uploads refuses the caller with a page. */
  uploadFault: "blocked" | null;
  /** How often an input picture was sent. */
  uploads: number;
  /** How often a result was asked for. */
  fetches: number;
  end: RunEnd;
  /** What runs made is gone, since its time is over. */
  isResultGone: boolean;
  /** Of its interface, where a provider has two (Higgsfield). */
  generation: "old" | "new";
  /** Refuses addresses for webhooks that are no HTTPS, as Replicate does; off, since tests have none. */
  isHttpsOnly: boolean;
  /** Reported of each run instead of the events that its submit asked for (Replicate), in this order. */
  reportedEvents: readonly string[] | null;
  /** How long a run takes. */
  runMs: number;
  /** How long a submit takes to arrive, its answer to come back, and a result to be sent. */
  delayMs: number;
  /** How often each end is reported; 0: never. */
  webhooks: number;
  /** Names the run that a submit started, or finds it again under its idempotency key. */
  start(run: SubmittedRun): SimRun;
  /** Ends a run now, and reports it. */
  finish(run: SimRun, state: SimRun["state"]): void;
  /** Where its results are fetched; its own address by default. */
  pictureOrigin: string;
  pictureForm: PictureForm;
  /** Its result as text, in the form above. */
  pictureText(run: SimRun): string;
  picture(): Promise<Buffer>;
  /** Sends what is reported of a run. */
  report(run: SimRun): Promise<void>;
  /** Statuses with which its reports were answered. */
  readonly reported: number[];
  /** Runs that a bill would name: those that made a picture, to be shown or not. */
  charged(): SimRun[];
  close(): Promise<void>;
}
