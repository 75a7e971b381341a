import type { ImageView } from "@atelier/server/images";
import { sendFile } from "../../uploads/send-file.ts";
import { exportMask } from "./export-mask.ts";
import type { Stroke } from "./stroke.ts";

/** Sends what is marked on a picture; resolves with the mask's id, rejects with the failure. */
export async function uploadMask(
  image: Pick<ImageView, "widthPx" | "heightPx">,
  strokes: readonly Stroke[],
): Promise<string> {
  const file = await exportMask(strokes, image);
  const sent = await sendFile({ file, name: "mask.png", role: "mask", signal: new AbortController().signal });
  if (!sent.ok) throw sent.failure;
  return sent.image.id;
}
