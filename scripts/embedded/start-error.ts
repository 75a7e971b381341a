/** The embedded database cannot be had; the message is for people and says what to do. */
export class StartError extends Error {
  readonly tag = "StartError";
}

export function isStartError(error: unknown): error is StartError {
  return error instanceof Error && "tag" in error && error.tag === "StartError";
}
