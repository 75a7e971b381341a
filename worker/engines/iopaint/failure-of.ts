import { AppError, foreignText, type ErrorCode } from "@atelier/server/platform";

/** As torch and its parts say it, on graphics cards and on the CPU. */
const memoryPattern =
  /OutOfMemory|out of memory|can't allocate memory|not enough memory|ran out of memory|\bMemoryError/i;
const cpuPattern = /DefaultCPUAllocator|\bMemoryError|alloc_cpu/;

/** What the server answers when something failed; its texts hold paths and reach admins only. */
interface Failure {
  readonly error?: unknown;
  readonly detail?: unknown;
  readonly errors?: unknown;
}

/** The error for an answer that is not 200. */
export function failureOf({ status }: { readonly status: number }, text: string): AppError {
  // The server's own limit or that of a proxy before it: no sign that it is unwell, but another may take it.
  if (status === 413) {
    return new AppError("request_too_large", "The server takes no files of this size.", {
      details: { status },
    });
  }
  const failure = parse(text);
  const code = failure ? codeOf(status, failure) : proxyCode(status);
  const exception = failure && exceptionOf(failure);
  return new AppError(code, undefined, { details: { status, ...(exception ? { exception } : {}) } });
}

/** Name and text of what Python raised. */
function exceptionOf({ error, errors }: Failure): string {
  const parts = [error, errors].filter((part) => typeof part === "string" && part !== "");
  return foreignText.parse(parts.join(": "));
}

function codeOf(status: number, { error, detail, errors }: Failure): ErrorCode {
  const said = [error, detail, errors].map(String).join("\n");
  if (memoryPattern.test(said)) return cpuPattern.test(said) ? "out_of_memory" : "gpu_out_of_memory";
  if (status === 422) return "node_missing";
  if (status === 429 || status === 503) return "server_busy";
  return "engine_failed";
}

/** IOPaint says every failure in JSON, so this is somebody else's page. */
function proxyCode(status: number): ErrorCode {
  return status === 429 || status === 503 ? "server_busy" : "proxy_error";
}

function parse(text: string): Failure | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : null;
  } catch {
    return null;
  }
}
