"use client";
import { useSyncExternalStore } from "react";
import type { pictureLimits } from "@atelier/server/platform";
import { newId } from "../client/api.ts";
import { isStudioAway, loadCode, studioIsBack } from "../ui/code.ts";
import { type Failure, failureOf } from "../ui/failures.ts";
import type * as Sender from "./send.ts";
import type { UploadedImage } from "./send.ts";
import { createListeners } from "../ui/listeners.ts";

/** Scaled down by the studio, a file may have this much. */
const maxScalableMib: (typeof pictureLimits)["scalableMib"] = 100;
const maxScalableBytes = maxScalableMib * 1024 ** 2;

/** What the dialog offers; what a file is, its content says alone. */
export const acceptedTypes = "image/*,.heic,.heif,.avif,.tif,.tiff";

export interface Upload {
  readonly id: string;
  readonly file: File;
  /** object: URL of the file itself, shown until the server's picture is there. */
  readonly previewUrl: string;
  readonly state: "waiting" | "sending" | "done" | "failed";
  readonly progress: number;
  readonly failure: Failure | null;
  readonly image: UploadedImage | null;
  /** The picture may become smaller. */
  readonly scalesDown: boolean;
}

type DoneListener = (image: UploadedImage) => void;

const atOnce = 3;
const uploads = new Map<string, Upload>();
const abortById = new Map<string, AbortController>();
const doneById = new Map<string, DoneListener>();
const triesById = new Map<string, number>();
const listeners = createListeners();
let list: readonly Upload[] = [];
/** Those that were to be sent since the last time that nothing was. */
let total = 0;

/** Pages are told of progress at most this often: a folder has thousands of files. */
const publishMs = 100;
let publishing: ReturnType<typeof setTimeout> | null = null;

function publish(): void {
  if (publishing !== null) clearTimeout(publishing);
  publishing = null;
  list = [...uploads.values()];
  listeners.notify();
}

const isOpen = ({ state }: Upload) => state === "waiting" || state === "sending";

const countOpen = () => [...uploads.values()].filter(isOpen).length;

function change(id: string, changes: Partial<Upload>): void {
  const upload = uploads.get(id);
  if (upload === undefined) return;
  uploads.set(id, { ...upload, ...changes });
  if (changes.state === undefined) publishing ??= setTimeout(publish, publishMs);
  else publish();
}

/** On the clock of `performance`, which is never set back. */
let pausedUntilMs = 0;
/** While it is set nothing is sent: a limit of the minute, or a fault that may pass. */
let waking: ReturnType<typeof setTimeout> | null = null;

function pause(forMs: number): void {
  const nowMs = performance.now();
  pausedUntilMs = Math.max(pausedUntilMs, nowMs + forMs);
  if (waking !== null) clearTimeout(waking);
  waking = setTimeout(wake, pausedUntilMs - nowMs);
}

function wake(): void {
  waking = null;
  sendNext();
}

const secondMs = 1_000;
const tries = 4;
/** The server, or the way to it, is away: the same file may pass in a moment. */
const passing: ReadonlySet<string> = new Set([
  "offline",
  "storage_unavailable",
  "database_unavailable",
  "internal",
]);

let isAway = false;

/** Nothing is sent until the studio is back, however long that takes. */
async function waitForStudio(): Promise<void> {
  if (isAway) return;
  isAway = true;
  await studioIsBack(() => countOpen() > 0);
  isAway = false;
  sendNext();
}

/** What stops every further file as well. */
const ofAccount: ReadonlySet<string> = new Set([
  "quota_exceeded",
  "storage_quota",
  "storage_full",
  "forbidden",
  "outdated",
]);

/** How long to wait before the same file is sent again; null when that would change nothing. */
function waitAfter(id: string, { code, details }: Failure): number | null {
  const limitS = code === "rate_limited" ? details?.["retryAfterS"] : undefined;
  if (limitS !== undefined) return Math.min(Math.max(Number(limitS), 1), 120) * secondMs;
  const tried = (triesById.get(id) ?? 0) + 1;
  triesById.set(id, tried);
  if (tried >= tries) return null;
  // Of a proxy, which may refuse every file.
  if (code === "rate_limited") return 60 * secondMs;
  return passing.has(code) ? 2 ** tried * secondMs : null;
}

/** Without its code the file waits like one without a network; an outdated page fails it. */
const sendFile: typeof Sender.sendFile = (options) =>
  loadCode(() => import("./send.ts")).then(
    (sender) => sender.sendFile(options),
    (error: unknown) => ({ ok: false, failure: failureOf(error) }),
  );

async function send(upload: Upload): Promise<void> {
  const { id, file, scalesDown } = upload;
  const abort = new AbortController();
  abortById.set(id, abort);
  change(id, { state: "sending" });
  const result = await sendFile({
    file,
    name: file.name,
    scalesDown,
    signal: abort.signal,
    onProgress: (progress) => change(id, { progress }),
  });
  abortById.delete(id);
  // Only a studio that does not answer is waited for: one that does may be refusing this very file.
  const isOutage = !result.ok && passing.has(result.failure.code) && (await isStudioAway());
  if (uploads.has(id)) {
    if (result.ok) finish(id, result.image);
    else if (isOutage) change(id, { state: "waiting", progress: 0 });
    else fail(id, result.failure);
  }
  if (isOutage) void waitForStudio();
  else sendNext();
}

function finish(id: string, image: UploadedImage): void {
  change(id, { state: "done", progress: 1, image });
  doneById.get(id)?.(image);
}

function fail(id: string, failure: Failure): void {
  const waitMs = waitAfter(id, failure);
  if (waitMs !== null) {
    change(id, { state: "waiting", progress: 0 });
    pause(waitMs);
    return;
  }
  change(id, { state: "failed", failure });
  if (!ofAccount.has(failure.code)) return;
  for (const other of uploads.values())
    if (other.state === "waiting") uploads.set(other.id, { ...other, state: "failed", failure });
  publish();
}

function sendNext(): void {
  if (isAway || waking !== null) return;
  let free = atOnce;
  for (const { state } of uploads.values()) if (state === "sending") free -= 1;
  for (const upload of uploads.values()) {
    if (free <= 0) return;
    if (upload.state !== "waiting") continue;
    free -= 1;
    void send(upload);
  }
}

function add(file: File, onDone?: DoneListener): string {
  const id = newId();
  const failure: Failure | null =
    file.size > maxScalableBytes ? { code: "upload_too_large", message: "" } : null;
  if (onDone !== undefined) doneById.set(id, onDone);
  uploads.set(id, {
    id,
    file,
    previewUrl: URL.createObjectURL(file),
    state: failure === null ? "waiting" : "failed",
    progress: 0,
    failure,
    image: null,
    scalesDown: false,
  });
  return id;
}

/** Before `added` more are to be sent. */
function raiseTotal(added: number): void {
  total = (countOpen() === 0 ? 0 : total) + added;
}

/** Adds a file to the queue and returns the upload's id. */
export function addUpload(file: File, onDone?: DoneListener): string {
  raiseTotal(1);
  const id = add(file, onDone);
  publish();
  sendNext();
  return id;
}

/** Adds many; each leaves the list when it is stored, and `onStored` is told. */
export function addUploads(files: readonly File[], onStored: DoneListener): void {
  raiseTotal(files.length);
  for (const file of files) {
    const id: string = add(file, (image) => {
      dropUpload(id);
      onStored(image);
    });
  }
  publish();
  sendNext();
}

/** Whether the studio could take the picture in a smaller size. */
export function canScaleDown({ file, failure, scalesDown }: Upload): boolean {
  const isTooLarge = failure?.code === "upload_too_large" || failure?.code === "upload_too_many_pixels";
  return isTooLarge && !scalesDown && file.size <= maxScalableBytes;
}

/** Sends failed uploads again, as they are or scaled down. */
export function retryUploads(ids: readonly string[], { scalesDown = false } = {}): void {
  raiseTotal(ids.length);
  for (const id of ids) {
    const upload = uploads.get(id);
    triesById.delete(id);
    if (upload)
      uploads.set(id, {
        ...upload,
        state: "waiting",
        progress: 0,
        failure: null,
        scalesDown: scalesDown || upload.scalesDown,
      });
  }
  publish();
  sendNext();
}

/** Stops an upload if it still runs, and removes it from the list. */
export function dropUpload(id: string): void {
  dropUploads([id]);
}

export function dropUploads(ids: readonly string[]): void {
  for (const id of ids) {
    abortById.get(id)?.abort();
    const upload = uploads.get(id);
    if (upload !== undefined) URL.revokeObjectURL(upload.previewUrl);
    if (upload && isOpen(upload)) total -= 1;
    uploads.delete(id);
    doneById.delete(id);
    triesById.delete(id);
  }
  publish();
  sendNext();
}

/** All uploads, oldest first. */
export function uploadList(): readonly Upload[] {
  return list;
}

const none: readonly Upload[] = [];

export function useUploads(): readonly Upload[] {
  return useSyncExternalStore(listeners.watch, uploadList, () => none);
}

/** How many were to be sent since the last time that nothing was; those that wait or are sent are what is left of them. */
export function uploadTotal(): number {
  return total;
}

export function useUploadTotal(): number {
  return useSyncExternalStore(listeners.watch, uploadTotal, () => 0);
}

export function useUpload(id: string | null): Upload | undefined {
  return useUploads().find((upload) => upload.id === id);
}
