import { aspects, type CreateForm, emptyForm, mostPictures, type OwnSettings } from "./form/create-form.ts";
import { draftKeys, readDraft, writeDraft } from "../live/forget-drafts.ts";

const storageKey = draftKeys.create;

type Unknown = Readonly<Record<string, unknown>>;

function parse(text: string | null): Unknown {
  try {
    const value: unknown = JSON.parse(text ?? "null");
    return typeof value === "object" && value !== null ? (value as Unknown) : {};
  } catch {
    return {};
  }
}

const isText = (value: unknown): value is string => typeof value === "string";
const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

function readSettings(value: unknown): Record<string, OwnSettings> {
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).map(([name, settings]: [string, unknown]) => {
      const { steps, guidance } = (settings ?? {}) as Unknown;
      const own: OwnSettings = {
        ...(isWhole(steps) ? { steps } : {}),
        ...(typeof guidance === "number" ? { guidance } : {}),
      };
      return [name, own];
    }),
  );
}

/** Reads each field by itself, so that one that a newer page does not understand loses nothing else. */
export function readForm(text: string | null): CreateForm {
  const stored = parse(text);
  const side = (value: unknown, otherwise: number) => (isWhole(value) && value > 0 ? value : otherwise);
  return {
    prompt: isText(stored.prompt) ? stored.prompt : "",
    negativePrompt: isText(stored.negativePrompt) ? stored.negativePrompt : "",
    workflow: isText(stored.workflow) ? stored.workflow : null,
    aspect: stored.aspect === null ? null : (aspects.find((known) => known === stored.aspect) ?? "1:1"),
    widthPx: side(stored.widthPx, emptyForm.widthPx),
    heightPx: side(stored.heightPx, emptyForm.heightPx),
    count: isWhole(stored.count) ? Math.min(mostPictures, Math.max(1, stored.count)) : 1,
    seed: isWhole(stored.seed) ? stored.seed : null,
    settings: readSettings(stored.settings),
  };
}

export function readStored(): CreateForm {
  return readForm(readDraft(storageKey));
}

export function writeStored(form: CreateForm): void {
  writeDraft(storageKey, JSON.stringify(form));
}
