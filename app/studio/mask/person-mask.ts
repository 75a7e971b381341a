import type { ImageView } from "@atelier/server/images";
import type { Stroke } from "../../edit/mask/stroke.ts";
import { uploadMask } from "../../edit/mask/upload-mask.ts";

export interface PersonMask {
  /** The picture that was painted on. */
  readonly personId: string | null;
  readonly strokes: readonly Stroke[];
}

export const noMask: PersonMask = { personId: null, strokes: [] };

const listeners = new Set<() => void>();
let mask = noMask;
let sent: { readonly mask: PersonMask; readonly id: Promise<string> } | null = null;

/** Where on the person the garment goes; kept until another person comes or the page is left. */
export const personMask = {
  get: (): PersonMask => mask,
  set: (next: PersonMask): void => {
    mask = next;
    for (const listener of listeners) listener();
  },
  watch: (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  /** Sends the marks once, however often they are used; rejects with the failure. */
  send: (person: ImageView): Promise<string> => {
    if (sent?.mask !== mask) sent = { mask, id: uploadMask(person, mask.strokes) };
    const sending = sent;
    return sending.id.catch((error: unknown) => {
      if (sent === sending) sent = null;
      throw error;
    });
  },
};
