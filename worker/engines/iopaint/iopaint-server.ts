/** One IOPaint server. */
export interface IopaintServer {
  /** Base address without credentials; may have a path prefix. */
  readonly url: string;
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Bounds of one call. */
export interface CallOptions {
  /** Aborting rejects the call with the signal's reason. The server itself goes on: it knows no cancel. */
  readonly signal: AbortSignal;
  /** Until the whole answer was read. */
  readonly timeoutMs: number;
}
