"use client";
import { useSyncExternalStore } from "react";
import { newId } from "../client/api.ts";
import type { Failure } from "../client/failures.ts";
import { sendFile, type UploadedImage } from "./send.ts";

export const maxUploadBytes = 25 * 1024 * 1024;
export const maxUploadsAtOnce = 20;
export const acceptedTypes = "image/jpeg,image/png,image/webp,image/avif";

const accepted: ReadonlySet<string> = new Set(acceptedTypes.split(","));

/** The failure that the server would answer, found without reading the file; null for an acceptable file. */
export function checkFile(file: Pick<File, "type" | "size">): Failure | null {
  if (!accepted.has(file.type)) return { code: "upload_unsupported", message: "" };
  if (file.size > maxUploadBytes) return { code: "upload_too_large", message: "" };
  return null;
}

export interface Upload {
  readonly id: string;
  readonly file: File;
  /** object: URL of the file itself, shown until the server's picture is there. */
  readonly previewUrl: string;
  readonly state: "waiting" | "sending" | "done" | "failed";
  readonly progress: number;
  readonly failure: Failure | null;
  readonly image: UploadedImage | null;
}

type DoneListener = (image: UploadedImage) => void;

const atOnce = 3;
const uploads = new Map<string, Upload>();
const abortById = new Map<string, AbortController>();
const doneById = new Map<string, DoneListener>();
const listeners = new Set<() => void>();
let list: readonly Upload[] = [];

function publish(): void {
  list = [...uploads.values()];
  for (const listener of listeners) listener();
}

function change(id: string, changes: Partial<Upload>): void {
  const upload = uploads.get(id);
  if (upload === undefined) return;
  uploads.set(id, { ...upload, ...changes });
  publish();
}

async function send(upload: Upload): Promise<void> {
  const abort = new AbortController();
  abortById.set(upload.id, abort);
  change(upload.id, { state: "sending" });
  const result = await sendFile({
    file: upload.file,
    name: upload.file.name,
    signal: abort.signal,
    onProgress: (progress) => change(upload.id, { progress }),
  });
  abortById.delete(upload.id);
  if (!result.ok) change(upload.id, { state: "failed", failure: result.failure });
  else if (uploads.has(upload.id)) {
    change(upload.id, { state: "done", progress: 1, image: result.image });
    doneById.get(upload.id)?.(result.image);
  }
  sendNext();
}

function sendNext(): void {
  const all = [...uploads.values()];
  const free = atOnce - all.filter((upload) => upload.state === "sending").length;
  const waiting = all.filter((upload) => upload.state === "waiting").slice(0, Math.max(0, free));
  for (const upload of waiting) void send(upload);
}

/** Adds a file to the upload queue and returns the upload's id. A file that cannot be sent fails at once, with the reason. */
export function addUpload(file: File, onDone?: DoneListener): string {
  const id = newId();
  const failure = checkFile(file);
  if (onDone !== undefined) doneById.set(id, onDone);
  uploads.set(id, {
    id,
    file,
    previewUrl: URL.createObjectURL(file),
    state: failure === null ? "waiting" : "failed",
    progress: 0,
    failure,
    image: null,
  });
  publish();
  sendNext();
  return id;
}

export function retryUpload(id: string): void {
  change(id, { state: "waiting", progress: 0, failure: null });
  sendNext();
}

/** Stops an upload if it still runs, and removes it from the list. */
export function dropUpload(id: string): void {
  abortById.get(id)?.abort();
  const upload = uploads.get(id);
  if (upload !== undefined) URL.revokeObjectURL(upload.previewUrl);
  uploads.delete(id);
  doneById.delete(id);
  publish();
  sendNext();
}

function uploadList(): readonly Upload[] {
  return list;
}

function watchUploads(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const none: readonly Upload[] = [];

export function useUploads(): readonly Upload[] {
  return useSyncExternalStore(watchUploads, uploadList, () => none);
}

export function useUpload(id: string | null): Upload | undefined {
  return useUploads().find((upload) => upload.id === id);
}
