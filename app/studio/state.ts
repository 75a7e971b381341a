"use client";
import { useSyncExternalStore } from "react";
import type { ImageView } from "@atelier/server/images";
import type { SubmitInput } from "@atelier/server/jobs";
import { loadCode } from "../ui/code.ts";
import type { OfferedWorkflow } from "../client/queries.ts";
import { choiceOf } from "../client/submit/job.ts";
import { categories, type Category } from "../client/wardrobe.ts";
import type { Mark } from "../edit/mask/marks.ts";
import { draftKeys, readDraft, writeDraft } from "../client/leaving.ts";
import { createListeners } from "../ui/listeners.ts";

export interface PersonMask {
  /** Image id of the photo on which the mask was painted. */
  readonly personId: string | null;
  readonly marks: readonly Mark[];
  /** Whether they mark something. */
  readonly isPainted: boolean;
}

const noMask: PersonMask = { personId: null, marks: [], isPainted: false };

const maskListeners = createListeners();
let mask = noMask;
let sent: { readonly mask: PersonMask; readonly id: Promise<string> } | null = null;
let sentId: string | null = null;

const isSent = () => sent?.mask.personId === mask.personId && sent.mask.marks === mask.marks;

async function uploadMarks(person: ImageView, marks: readonly Mark[]): Promise<string> {
  const { uploadMask } = await loadCode(() => import("../edit/mask/export.ts"));
  return uploadMask(person, marks);
}

/** The painted area of the garment; kept until another photo is chosen or the page is closed. */
export const personMask = {
  get: (): PersonMask => mask,
  set: (next: PersonMask): void => {
    mask = next;
    maskListeners.notify();
  },
  watch: maskListeners.watch,
  /** Uploads the mask on first use and returns its image id; rejects with the failure. */
  send: (person: ImageView): Promise<string> => {
    if (sent === null || !isSent()) {
      sent = { mask, id: uploadMarks(person, mask.marks) };
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
  /** The id of the uploaded mask; null before its upload. */
  sentId: (): string | null => (isSent() ? sentId : null),
  /** The next use uploads the mask again. */
  forgetSent: (): void => {
    sent = null;
    sentId = null;
  },
};

/** The mask of this person. */
export function usePersonMask(personId: string | null) {
  const mask = useSyncExternalStore(personMask.watch, personMask.get, () => noMask);
  const { marks, isPainted } = personId !== null && mask.personId === personId ? mask : noMask;
  return { marks, isPainted, sentId: personMask.sentId() };
}

export type Slot = "person" | "garment";

interface StudioState {
  readonly personId: string | null;
  readonly garmentId: string | null;
  readonly category: Category;
  /** The pieces of the outfit beside the first. */
  readonly more: readonly { readonly imageId: string; readonly category: Category }[];
  /** Name of a workflow, or `local`; null: the first engine that can run now. */
  readonly engine: string | null;
  /** For engines that take a prompt. */
  readonly prompt: string;
  /** The job whose result is shown. */
  readonly jobId: string | null;
  /** The order of several passes whose result is shown instead. */
  readonly order: { readonly id: string; readonly asked: string } | null;
}

const storageKey = draftKeys.studio;

function parse(text: string | null): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return null;
  }
}

const isCategory = (value: unknown) => categories.some((known) => known === value);
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** Checked by hand: a schema library would add a megabyte of modules to the page in development. */
function isState(value: unknown): value is StudioState {
  if (!isRecord(value)) return false;
  const { personId, garmentId, category, more, engine, prompt, jobId, order } = value;
  const isIdOrNull = (id: unknown) => id === null || typeof id === "string";
  return (
    [personId, garmentId, jobId, engine].every(isIdOrNull) &&
    typeof prompt === "string" &&
    isCategory(category) &&
    Array.isArray(more) &&
    more.every(
      (piece) => isRecord(piece) && typeof piece["imageId"] === "string" && isCategory(piece["category"]),
    ) &&
    (order === null ||
      (isRecord(order) && typeof order["id"] === "string" && typeof order["asked"] === "string"))
  );
}

function readStored(fallback: StudioState): StudioState {
  const stored = parse(readDraft(storageKey));
  if (typeof stored !== "object" || stored === null) return fallback;
  // A state that an older version stored lacks fields that were added since.
  const filled: unknown = { ...fallback, ...stored };
  return isState(filled) ? filled : fallback;
}

function writeStored(state: StudioState): void {
  writeDraft(storageKey, JSON.stringify(state));
}

const listeners = createListeners();
let state: StudioState | null = null;

const emptyStudio: StudioState = {
  personId: null,
  garmentId: null,
  category: "auto",
  more: [],
  engine: null,
  prompt: "",
  jobId: null,
  order: null,
};

/** The inputs and settings of the studio; stored in the browser, so they survive a reload. */
export const studio = {
  get: (): StudioState => {
    state ??= readStored(emptyStudio);
    return state;
  },
  /** Another job, or none, takes the place of an order. */
  set: (changes: Partial<StudioState>): void => {
    state = { ...studio.get(), ...("jobId" in changes ? { order: null } : {}), ...changes };
    writeStored(state);
    listeners.notify();
  },
  watch: listeners.watch,
};

export type OutfitRequest = Extract<SubmitInput, { kind: "outfit_change" }>;

interface OutfitInput {
  readonly person: string;
  readonly garment: string;
  readonly mask: string | null;
  readonly category: Category;
  readonly prompt: string;
  /** null: the engine of this computer. */
  readonly workflow: OfferedWorkflow | null;
}

/**
 * The garment categories that an engine can fit. The local engine fits the upper body only, so no trousers; a model of a
 * provider names its own, and one that finds out by itself has none but `auto`.
 */
export function categoriesOf(
  workflow: Pick<OfferedWorkflow, "cloud" | "params"> | null,
): readonly Category[] {
  if (workflow === null) return ["auto", "top", "dress"];
  const choices = workflow.cloud === null ? undefined : workflow.params.category?.choices;
  return choices === undefined ? categories : categories.filter((category) => category in choices);
}

/** The chosen category, or the first one of the engine where that has no such choice. */
export function categoryFor(workflow: OfferedWorkflow | null, chosen: Category): Category {
  const known = categoriesOf(workflow);
  return known.includes(chosen) ? chosen : (known[0] ?? "auto");
}

export function outfitRequest({
  person,
  garment,
  mask,
  category,
  prompt,
  workflow,
}: OutfitInput): OutfitRequest {
  return {
    kind: "outfit_change",
    ...(workflow === null ? { engine: "local" as const } : choiceOf(workflow)),
    params: {
      category: categoryFor(workflow, category),
      ...(prompt === "" ? {} : { prompt }),
    },
    inputs: { person, garment, ...(mask === null ? {} : { mask }) },
  };
}

export function useStudio(): StudioState {
  return useSyncExternalStore(studio.watch, studio.get, () => emptyStudio);
}
