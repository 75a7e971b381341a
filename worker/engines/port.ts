import type { EngineName, InputRole, JobKind, Need } from "@atelier/server/engines";
import type { ServerRunEnd } from "@atelier/server/nodes";
import type { Workflow } from "@atelier/server/workflows";

/** Work that was posted to a server, under an id that the worker chose. */
export interface Submission {
  /** Base address of the server, without credentials. */
  readonly server: string;
  readonly externalId: string;
}

/** Makes a small JPEG or WebP of the unfinished picture; null when there is nothing to show. */
export type MakePreview = () => Promise<Uint8Array | null>;

/** What is about to be sent to a server; the id is null where the server cannot find work by an id. */
interface Posting {
  readonly server: string;
  readonly externalId: string | null;
}

/** Reserves a server for one run, among all workers, until `end`. */
export interface ServerLease {
  /** A lost run may still be running on the server. */
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
  /** Addresses of servers that must not be chosen, such as those where an earlier attempt failed. */
  readonly avoid: readonly string[];
  /** What an earlier attempt posted. The engine adopts it if the server still has it, instead of posting again. */
  readonly submission: Submission | null;
  /** Already parsed with the kind's schema. */
  readonly params: Readonly<Record<string, unknown>>;
  /** Path of each input, as stored (orientation applied, no metadata). Masks: grey PNG, white = change. */
  readonly inputs: Partial<Record<InputRole, string>>;
  readonly workDir: string;
  /** Where the engine writes the mask that it used, as grey PNG, white = may change. Default: nowhere. */
  readonly maskPath?: string;
}

export interface EngineContext {
  /** Aborting ends the run at once; `run` then rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** Call when the work begins, after the wait for a server. Engines without servers need not call it. */
  onBegin(): void;
  /** `fraction` is 0..1; `stage` is a key of the message catalogue `stages`. */
  onProgress(fraction: number, stage: string): void;
  /** Call when there is a newer preview. `make` is called only while a browser watches the job, and at most once per preview sent. */
  onPreview(make: MakePreview): void;
  /** Stores what is about to be posted; post only after it resolved. Rejects when the lease of the run is invalid. */
  onSubmitting(posting: Posting): Promise<void>;
  /** Takes the server lease of a server that all workers share. Null while another worker uses the server. */
  takeServer(url: string): Promise<ServerLease | null>;
}

export interface EngineOutput {
  readonly path: string;
  readonly mime: "image/png" | "image/webp" | "image/jpeg";
  /** Facts of the run that are stored with the job (scores, times in ms); no text for users. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

/** The only interface between the worker and an image engine. Throws AppError with a code of the error table. */
export interface Engine {
  readonly name: EngineName;
  readonly kinds: readonly JobKind[];
  run(task: EngineTask, context: EngineContext): Promise<readonly EngineOutput[]>;
  close(): Promise<void>;
}
