import type { ImageView } from "@atelier/server/images";
import type { Stroke } from "../../edit/mask/stroke.ts";
import { uploadMask } from "../../edit/mask/upload-mask.ts";

export interface PersonMask {
  /** The picture that was painted on. */
  readonly personId: string | null;
  readonly strokes: readonly Stroke[];
}

export const noMask: PersonMask = { personId: null, strokes: [] };

const maskListeners = new Set<() => void>();
let mask = noMask;
let sent: { readonly mask: PersonMask; readonly id: Promise<string> } | null = null;
let sentId: string | null = null;

const isSent = () => sent?.mask.personId === mask.personId && sent.mask.strokes === mask.strokes;

/** Where on the person the garment goes; kept until another person comes or the page is left. */
export const personMask = {
  get: (): PersonMask => mask,
  set: (next: PersonMask): void => {
    mask = next;
    for (const listener of maskListeners) listener();
  },
  watch: (listener: () => void): (() => void) => {
    maskListeners.add(listener);
    return () => maskListeners.delete(listener);
  },
  /** Sends the marks once, however often they are used; rejects with the failure. */
  send: (person: ImageView): Promise<string> => {
    if (sent === null || !isSent()) {
      sent = { mask, id: uploadMask(person, mask.strokes) };
      sentId = null;
    }
    const sending = sent;
    return sending.id.then(
      (id) => {
        if (sent === sending) sentId = id;
        return id;
      },
      (error: unknown) => {
        if (sent === sending) personMask.forgetSent();
        throw error;
      },
    );
  },
  /** As what the present marks were sent; null when they were not. */
  sentId: (): string | null => (isSent() ? sentId : null),
  /** The next use sends them anew. */
  forgetSent: (): void => {
    sent = null;
    sentId = null;
  },
};
