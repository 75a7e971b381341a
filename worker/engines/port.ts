import type { EngineName, InputRole, JobKind, Need } from "@atelier/server/engines";
import type { ServerRunEnd } from "@atelier/server/nodes";
import type { Workflow } from "@atelier/server/workflows";

/** A piece of work that a server was given, under an id of our own. */
export interface Submission {
  /** Base address of the server, without credentials. */
  readonly server: string;
  readonly externalId: string;
}

/** Makes a small JPEG or WebP of the unfinished picture; null when there is none to show. */
export type MakePreview = () => Promise<Uint8Array | null>;
/** What is about to be sent to a server; no id where the server gives no way to find the work again. */
interface Posting {
  readonly server: string;
  readonly externalId: string | null;
}

/** The only use of a server by any worker, until its end. */
export interface ServerLease {
  /** A lost run may still be at work there. */
  readonly mayBeBusy: boolean;
  /** Never rejects. */
  end(how: ServerRunEnd): Promise<void>;
}

/** One run of an engine. Files are local; the engine writes only below `workDir`, which its caller removes. */
export interface EngineTask {
  readonly jobId: string;
  readonly kind: JobKind;
  readonly attempt: number;
  readonly need: Need;
  /** The job's workflow; null for engines without any. */
  readonly workflow: Workflow | null;
  /** Addresses of servers where the job failed for a reason that another server may not have. */
  readonly avoid: readonly string[];
  /** What an earlier try posted: it is adopted where it still runs or has ended, never run a second time. */
  readonly submission: Submission | null;
  /** Already parsed with the kind's schema. */
  readonly params: Readonly<Record<string, unknown>>;
  /** Path of each input, as stored (orientation applied, no metadata). Masks: grey PNG, white = change. */
  readonly inputs: Partial<Record<InputRole, string>>;
  readonly workDir: string;
  /** Where a run that keeps to a part of the picture writes it as grey PNG, white = may change. Default: nowhere. */
  readonly maskPath?: string;
}

export interface EngineContext {
  /** Aborting ends the run at once; `run` then rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** The work itself begins; before that the run waits for others. Engines that wait for nobody need not tell. */
  onBegin(): void;
  /** `fraction` 0..1 counts tiles or stages that are done; `stage` is a key of the message catalogue `stages`. */
  onProgress(fraction: number, stage: string): void;
  /** There is a newer preview. It is made only if somebody watches the job, and not more often than it is shown. */
  onPreview(make: MakePreview): void;
  /** Stores what is about to be posted; post only after it resolved. Rejects when the job is no longer this run's. */
  onSubmitting(posting: Posting): Promise<void>;
  /** For servers that run one request at a time, whichever worker sends it. Null while another worker uses the server. */
  takeServer(url: string): Promise<ServerLease | null>;
}

export interface EngineOutput {
  readonly path: string;
  readonly mime: "image/png" | "image/webp" | "image/jpeg";
  /** Figures of the run that are stored with the job (scores, times in ms); no text for people. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

/** The one interface between the worker and whatever makes pictures. Throws AppError with a code of the table. */
export interface Engine {
  readonly name: EngineName;
  readonly kinds: readonly JobKind[];
  run(task: EngineTask, context: EngineContext): Promise<readonly EngineOutput[]>;
  close(): Promise<void>;
}
