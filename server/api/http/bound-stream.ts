export interface StreamBounds {
  /** Asked every `recheckMs`; the stream ends when it is false. */
  isAllowed(): Promise<boolean>;
  readonly recheckMs: number;
  readonly lengthMs: number;
}

/** The same values until `lengthMs` are over or the caller may not read on; looked at whenever a value comes. */
export async function* boundStream<Value>(
  source: AsyncIterable<Value>,
  bounds: StreamBounds,
): AsyncGenerator<Value> {
  const endsAtMs = performance.now() + bounds.lengthMs;
  let recheckAtMs = performance.now() + bounds.recheckMs;
  for await (const value of source) {
    if (performance.now() >= endsAtMs) return;
    if (performance.now() >= recheckAtMs) {
      if (!(await bounds.isAllowed())) return;
      recheckAtMs = performance.now() + bounds.recheckMs;
    }
    yield value;
  }
}
