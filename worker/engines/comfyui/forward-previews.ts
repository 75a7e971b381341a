import type { EngineContext } from "../port.ts";
import { makePreview } from "./make-preview.ts";

/** Larger ones cost more than a look at the unfinished picture is worth. */
const mostBytes = 2 * 1024 * 1024;

/** Passes on the previews of one run. */
export function forwardPreviews({
  signal,
  onPreview,
}: Pick<EngineContext, "signal" | "onPreview">): (bytes: Uint8Array) => void {
  return (bytes) => {
    if (bytes.byteLength > mostBytes || signal.aborted) return;
    onPreview(() => makePreview(bytes));
  };
}
