import type { EngineContext } from "../port.ts";
import { makePreview } from "./make-preview.ts";

/** Larger ones cost more than a look at the unfinished picture is worth. */
const mostBytes = 2 * 1024 * 1024;

/** Passes on the previews of one run, one at a time: those that come while one is made are dropped. */
export function forwardPreviews({
  signal,
  onPreview,
}: Pick<EngineContext, "signal" | "onPreview">): (bytes: Uint8Array) => void {
  let isBusy = false;
  const forward = async (bytes: Uint8Array) => {
    const preview = await makePreview(bytes);
    isBusy = false;
    if (preview && !signal.aborted) onPreview(preview);
  };
  return (bytes) => {
    if (isBusy || bytes.byteLength > mostBytes) return;
    isBusy = true;
    void forward(bytes);
  };
}
