/** One ComfyUI server. */
export interface ComfyServer {
  /** Base address; may hold a path prefix and `user:password@`. */
  readonly url: string;
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Bounds of one call. */
export interface CallOptions {
  /** Aborting rejects the call with the signal's reason. */
  readonly signal: AbortSignal;
  /** Until the whole answer was read. Each call has a default. */
  readonly timeoutMs?: number;
}

/** A workflow in API format: nodes by id. A link is `[node id, output index]`. */
export type PromptGraph = Readonly<
  Record<string, { readonly class_type: string; readonly inputs: Readonly<Record<string, unknown>> }>
>;

/** A file that a server keeps. */
export interface ServerFile {
  readonly filename: string;
  readonly subfolder: string;
  readonly type: "input" | "output" | "temp";
}

/** A file that a node of a prompt made. */
export interface OutputFile extends ServerFile {
  readonly nodeId: string;
}
