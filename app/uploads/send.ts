"use client";
import { type Failure, failureOf, failureOfAnswer } from "../ui/failures.ts";
import { viewerTimezone } from "../client/cookies.ts";
import { ensureGuest, forgetSession } from "../client/session.ts";

export interface UploadedImage {
  readonly id: string;
  readonly width: number;
  readonly height: number;
}

export type SendResult =
  | { readonly ok: true; readonly image: UploadedImage }
  | { readonly ok: false; readonly failure: Failure };

interface SendOptions {
  readonly file: Blob;
  readonly name: string;
  readonly role?: "mask";
  /** Rather smaller than refused. */
  readonly scalesDown?: boolean;
  readonly signal: AbortSignal;
  /** 0..1 */
  readonly onProgress?: (progress: number) => void;
}

/** The server's answer to an announced file. `url` is a path of this server or a signed address in the bucket. */
interface Begun {
  readonly id: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

const refused = (failure: Failure): SendResult => ({ ok: false, failure });
const offline: Failure = { code: "offline", message: "" };

/** Lower-case hex; undefined over plain http on a LAN address, where browsers hash nothing. */
async function hashOf(file: Blob): Promise<string | undefined> {
  const subtle: SubtleCrypto | undefined = crypto.subtle;
  if (subtle === undefined) return undefined;
  const bytes = new Uint8Array(await subtle.digest("SHA-256", await file.arrayBuffer()));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** False for a file that changed since it was chosen, or that is in a cloud and not on this device: the network has no part in it. */
function isReadable(file: Blob): Promise<boolean> {
  return file
    .slice(0, 1)
    .arrayBuffer()
    .then(
      () => true,
      () => false,
    );
}

async function post(path: string, body: unknown, signal: AbortSignal): Promise<Response> {
  return fetch(`/api/v1/uploads/direct${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
}

async function failureIn(response: Response): Promise<Failure> {
  return failureOfAnswer(response.status, await response.json().catch(() => null));
}

/** Without a byte that leaves; then, when all have left, until the answer: on a dead line neither would ever come. */
const silentMs = 120_000;
const answerMs = 300_000;

type PutResult = { readonly answer: XMLHttpRequest; readonly failure: Failure };

/** XMLHttpRequest, because `fetch` reports no upload progress. */
function put({ url, headers }: Begun, { file, signal, onProgress }: SendOptions): Promise<PutResult> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open("PUT", url);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    let timer: ReturnType<typeof setTimeout>;
    const wait = (ms: number) => {
      clearTimeout(timer);
      timer = setTimeout(() => request.abort(), ms);
    };
    request.upload.addEventListener("progress", (event) => {
      wait(silentMs);
      onProgress?.(event.loaded / event.total);
    });
    request.upload.addEventListener("load", () => wait(answerMs));
    const isOwn = url.startsWith("/");
    const away: Failure = isOwn ? offline : { code: "storage_unavailable", message: "" };
    const end = (failure: Failure) => {
      clearTimeout(timer);
      resolve({ answer: request, failure });
    };
    request.addEventListener("load", () => end(isOwn ? failureOfText(request) : away));
    request.addEventListener("error", () => end(away));
    request.addEventListener("abort", () => end(offline));
    signal.addEventListener("abort", () => request.abort(), { once: true });
    wait(silentMs);
    request.send(file);
  });
}

function failureOfText({ status, responseText }: XMLHttpRequest): Failure {
  try {
    return failureOfAnswer(status, JSON.parse(responseText));
  } catch {
    return failureOfAnswer(status, null);
  }
}

/** The bucket's answer to a link that expired while other files were sent. */
const forbidden = 403;
/** What it says where it knows no checksums, as Backblaze's does, and what it says of a file that came damaged or late. */
const ofHeader = /checksum|header|argument|implement/i;
const ofFile = /digest|match|timeout/i;
const isHashRefused = ({ status, responseText }: XMLHttpRequest) =>
  status === 501 || (status === 400 && ofHeader.test(responseText) && !ofFile.test(responseText));
const isTaken = ({ status }: XMLHttpRequest) => status > 199 && status < 300;
/** Once it has taken without the hash what it refused with it, it is sent none. The studio compares all the same. */
let takesHashes = true;

interface Announced {
  readonly sha256: string | undefined;
  /** The bucket is not to compare the hash. */
  readonly unchecked: boolean;
}

async function sendBegun(options: SendOptions, announced: Announced, tries = 2): Promise<SendResult> {
  const { signal } = options;
  const answer = await post("", announced, signal);
  if (!answer.ok) return refused(await failureIn(answer));
  if (answer.status === 200) return { ok: true, image: await answer.json() };
  const begun: Begun = await answer.json();
  const sent = await put(begun, options);
  const unchecked = announced.unchecked || isHashRefused(sent.answer);
  const mayTakeAgain = sent.answer.status === forbidden || unchecked !== announced.unchecked;
  if (!begun.url.startsWith("/") && tries > 1 && mayTakeAgain) {
    giveUp(begun);
    return sendBegun(options, { ...announced, unchecked }, tries - 1);
  }
  if (announced.unchecked && isTaken(sent.answer)) takesHashes = false;
  const result = await finish(begun, sent, options).catch((error: unknown) => refused(failureOf(error)));
  if (!result.ok) giveUp(begun);
  return result;
}

async function finish({ id }: Begun, sent: PutResult, options: SendOptions): Promise<SendResult> {
  if (!isTaken(sent.answer)) return refused(sent.failure);
  const query = `timezone=${encodeURIComponent(viewerTimezone())}${options.scalesDown ? "&scaleDown=true" : ""}`;
  const finished = await post(`/${id}/finish?${query}`, {}, options.signal);
  return finished.ok ? { ok: true, image: await finished.json() } : refused(await failureIn(finished));
}

/** An upload that is begun and not finished counts against the account. Not waited for: it ends by itself, too. */
function giveUp({ id }: Begun): void {
  fetch(`/api/v1/uploads/direct/${id}`, { method: "DELETE", keepalive: true }).catch(() => undefined);
}

async function sendOnce(options: SendOptions): Promise<SendResult> {
  const { file, name, role, scalesDown, signal } = options;
  try {
    await ensureGuest();
    signal.throwIfAborted();
    if (!(await isReadable(file))) return refused({ code: "file_unreadable", message: "" });
    const sha256 = await hashOf(file);
    // Browsers know no type of some files.
    const mime = file.type === "" ? undefined : file.type;
    const unchecked = !takesHashes;
    const announced = { name, role, mime, sizeBytes: file.size, sha256, unchecked, scaleDown: scalesDown };
    return await sendBegun(options, announced);
  } catch (error) {
    return refused(failureOf(error));
  }
}

/** Sends one picture: announces it, sends it where the server says, and finishes the upload. */
export async function sendFile(options: SendOptions): Promise<SendResult> {
  const sent = await sendOnce(options);
  if (sent.ok || sent.failure.code !== "unauthorized") return sent;
  forgetSession();
  return sendOnce(options);
}
