import { ensureGuest, forgetSession } from "../client/session.ts";
import { failureOf, type Failure } from "../client/failures.ts";

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
  readonly signal: AbortSignal;
  /** 0..1 */
  readonly onProgress?: (progress: number) => void;
}

const offline: SendResult = { ok: false, failure: { code: "offline", message: "" } };

function readAnswer(request: XMLHttpRequest): SendResult {
  const body: unknown = request.response;
  if (request.status === 201) return { ok: true, image: body as UploadedImage };
  return { ok: false, failure: failureOf(body) };
}

function post({ file, name, role, signal, onProgress }: SendOptions): Promise<SendResult> {
  return new Promise((resolve) => {
    const form = new FormData();
    if (role !== undefined) form.append("role", role);
    form.append("file", file, name);
    const request = new XMLHttpRequest();
    request.open("POST", "/api/v1/uploads");
    request.responseType = "json";
    request.upload.addEventListener("progress", (event) => onProgress?.(event.loaded / event.total));
    request.addEventListener("load", () => resolve(readAnswer(request)));
    request.addEventListener("error", () => resolve(offline));
    request.addEventListener("abort", () => resolve(offline));
    signal.addEventListener("abort", () => request.abort(), { once: true });
    request.send(form);
  });
}

async function sendOnce(options: SendOptions): Promise<SendResult> {
  try {
    await ensureGuest();
  } catch (error) {
    return { ok: false, failure: failureOf(error) };
  }
  return options.signal.aborted ? offline : post(options);
}

/** Sends one picture. XMLHttpRequest, because `fetch` does not tell how much was sent. */
export async function sendFile(options: SendOptions): Promise<SendResult> {
  const sent = await sendOnce(options);
  if (sent.ok || sent.failure.code !== "unauthorized") return sent;
  forgetSession();
  return sendOnce(options);
}
