import type { ErrorCode } from "@atelier/server/platform";

/** Where a file's way ends: refused by its structure, refused while it is decoded, or taken on one of the two paths. */
export type Outcome =
  | { readonly refusedBy: "header" | "decoder"; readonly code: ErrorCode }
  | { readonly takenAs: "light" | "heavy" }
  /** Damaged where either may happen; a crash may not. */
  | { readonly either: true };

/** One hostile or dear file, made when it is needed. */
export interface ZooEntry {
  readonly name: string;
  readonly outcome: Outcome;
  make(): Promise<Buffer> | Buffer;
}

export const byHeader = (code: ErrorCode): Outcome => ({ refusedBy: "header", code });
export const byDecoder = (code: ErrorCode): Outcome => ({ refusedBy: "decoder", code });
