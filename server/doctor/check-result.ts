/** Outcome of one check; the message is for people and, when it failed, says what to do. */
export interface CheckResult {
  /** Name of the setting or of the thing, for instance `REDIS_URL` or `Node.js`. */
  readonly name: string;
  readonly isOk: boolean;
  readonly message: string;
  /** It works, but somebody should look at it. */
  readonly isWarning?: true;
}

export function passed(name: string, message: string): CheckResult {
  return { name, isOk: true, message };
}

export function failed(name: string, message: string): CheckResult {
  return { name, isOk: false, message };
}

/** What an outside system says about a failure, shortened to one line; never used to decide anything. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return reasonOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  return (error.message || error.name).split("\n")[0] ?? error.name;
}

/** An address without its password. */
export function withoutPassword(address: string): string {
  const url = new URL(address);
  if (url.password) url.password = "***";
  return url.href;
}
