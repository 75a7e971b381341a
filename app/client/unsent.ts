"use client";
import { useCallback, useSyncExternalStore } from "react";
import { draftKeys, readDraft, writeDraft } from "./leaving.ts";
import { createListeners } from "../ui/listeners.ts";

/** Conversations of which the words are kept; the one that was written in longest ago is forgotten first. */
const mostKept = 20;

const isPair = (value: unknown): value is [string, string] =>
  Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === "string");

function readStored(): [string, string][] {
  try {
    const stored: unknown = JSON.parse(readDraft(draftKeys.questions) ?? "[]");
    return Array.isArray(stored) ? stored.filter(isPair) : [];
  } catch {
    return [];
  }
}

const listeners = createListeners();
let kept: Map<string, string> | null = null;
/** What the storage held when it was read or written last; null also where the browser blocks it. */
let seen: string | null = null;

function all(): Map<string, string> {
  if (kept !== null) return kept;
  seen = readDraft(draftKeys.questions);
  kept = new Map(readStored());
  return kept;
}

/** Another tab may have written meanwhile. */
function readAnew(): void {
  if (readDraft(draftKeys.questions) === seen) return;
  kept = null;
  listeners.notify();
}

function watch(listener: () => void): () => void {
  const leaving = new AbortController();
  const stop = listeners.watch(listener);
  window.addEventListener("storage", readAnew, { signal: leaving.signal });
  return () => {
    leaving.abort();
    stop();
  };
}
const nameOf = (conversationId: string | null) => conversationId ?? "new";

function get(conversationId: string | null): string {
  return all().get(nameOf(conversationId)) ?? "";
}

/** The words of questions that are not asked yet, by their conversation: they survive the sheet, another page and a reload. */
export const unsent = {
  get,
  set(conversationId: string | null, change: (now: string) => string): void {
    readAnew();
    const text = change(get(conversationId));
    all().delete(nameOf(conversationId));
    if (text !== "") all().set(nameOf(conversationId), text);
    for (const name of [...all().keys()].slice(0, -mostKept)) all().delete(name);
    writeDraft(draftKeys.questions, JSON.stringify([...all()]));
    seen = readDraft(draftKeys.questions);
    listeners.notify();
  },
};

/** Puts words before those in the field, unless they stand there already. */
export const putBefore = (words: string) => (now: string) => {
  if (now.trim() === "") return words;
  return now === words || now.startsWith(`${words}\n`) ? now : `${words}\n${now}`;
};

/** The words in the field of a conversation; null for a new one. */
export function useUnsent(conversationId: string | null) {
  const text = useSyncExternalStore(
    watch,
    () => get(conversationId),
    () => "",
  );
  const setText = useCallback((next: string) => unsent.set(conversationId, () => next), [conversationId]);
  return { text, setText };
}
