"use client";
import { useSyncExternalStore } from "react";
import { hasPaint } from "../../edit/mask.ts";
import type { Stroke } from "../../edit/mask/stroke.ts";
import { noMask, personMask } from "./person-mask.ts";

const none: readonly Stroke[] = [];

/** What is marked on this person. */
export function usePersonMask(personId: string | null) {
  const mask = useSyncExternalStore(personMask.watch, personMask.get, () => noMask);
  const strokes = personId !== null && mask.personId === personId ? mask.strokes : none;
  return { strokes, isPainted: hasPaint({ strokes }), sentId: personMask.sentId() };
}
