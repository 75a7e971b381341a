import { AppError } from "@atelier/server/platform";

/*
 * A server may answer and still fail every run, whatever the job is: its process has lost its card, its disk is full. It is
 * not at fault for long, since nothing but its operator mends it, and neither are its jobs.
 */

/** How torch and drivers say that the process has lost its card. */
const lostCards: readonly RegExp[] = [
  /\b(?:CUDA|HIP)(?: runtime)? error\b.{0,60}\b(?:illegal (?:memory access|address|instruction)|unspecified launch failure|device-side assert|misaligned address|uncorrectable (?:NVLink|ECC)|launch timed out|hardware stack error|driver shutting down|context is destroyed|unknown error)/i,
  /\bcudaError(?:IllegalAddress|IllegalInstruction|LaunchFailure|Assert|MisalignedAddress|ECCUncorrectable|LaunchTimeout|ContextIsDestroyed)\b/,
  /\bhipError(?:IllegalAddress|LaunchFailure|Assert|ECCNotCorrectable|LaunchTimeOut|ContextIsDestroyed)\b/,
  /\bUR_RESULT_ERROR_DEVICE_LOST\b|\bGPU (?:is lost|has fallen off the bus)\b|\bDXGI_ERROR_DEVICE_(?:REMOVED|HUNG|RESET)\b|\bGPU device instance has been suspended\b/i,
  /\bno (?:CUDA|HIP|XPU) GPUs? (?:is|are) available\b|\bno (?:CUDA|ROCm)-capable device is detected\b/i,
];

/** How Python and systems say that nothing can be saved. */
const fullDisks: readonly RegExp[] = [
  /\[Errno (?:28|30|122)\]|\[WinError 112\]/,
  /\bno space left on device\b|\bdisk quota exceeded\b|\bread-only file system\b|\bnot enough space on the disk\b/i,
];

const tooManyFiles: readonly RegExp[] = [/\[Errno 24\]|\btoo many open files\b/i];

interface Unfitness {
  readonly reason: string;
  /** For users and admins. */
  readonly message: string;
  readonly texts: readonly RegExp[];
  /** It may be so for one folder or node alone. */
  readonly mayBeOfNode?: true;
}

const all: readonly Unfitness[] = [
  {
    reason: "lost_card",
    message: "The server has lost its graphics card. It works again once somebody restarts it.",
    texts: lostCards,
  },
  {
    reason: "disk_full",
    message: "The server cannot save anything: its disk is full, or only to be read from.",
    texts: fullDisks,
    mayBeOfNode: true,
  },
  {
    reason: "files_open",
    message: "The server has too many files open. It works again once somebody restarts it.",
    texts: tooManyFiles,
    mayBeOfNode: true,
  },
];

/**
 * The error of a run by what its server says, without the user's texts; null where the server is fit. Charged: it may be the
 * job that has broken the server.
 */
export function unfitFailure(
  said: string,
  details: Readonly<Record<string, unknown>>,
  cause?: unknown,
): AppError | null {
  const found = all.find(({ texts }) => texts.some((text) => text.test(said)));
  if (!found) return null;
  const { reason, message } = found;
  return new AppError("engine_failed", message, { details: { ...details, reason }, cause });
}

/** Whether a run failed since its server fails every run. */
export const isOfUnfit = ({ details }: AppError): boolean =>
  all.some(({ reason }) => reason === details?.["reason"]);

/** ComfyUI's own nodes, which write into its own folders. */
const ownWriters = new Set(["SaveImage", "PreviewImage", "SaveAnimatedPNG", "SaveAnimatedWEBP"]);

/** The node class that may be at fault by itself, such as one that writes into its own folder; null when the server is. */
export function suspectNode({ details }: AppError): string | null {
  const { reason, nodeClass } = details ?? {};
  const mayBeOfNode = all.some((each) => each.reason === reason && each.mayBeOfNode === true);
  return mayBeOfNode && typeof nodeClass === "string" && !ownWriters.has(nodeClass) ? nodeClass : null;
}

/** The error of a run on a server that was known to fail every run: the job is not at fault, as often as it may be excused. */
export function excused(error: AppError, { isUnfit }: { readonly isUnfit: boolean }): AppError {
  if (!isUnfit || !isOfUnfit(error)) return error;
  const { message, details = {}, cause } = error;
  return new AppError("server_lost", message, { details: { ...details, excused: true }, cause });
}
