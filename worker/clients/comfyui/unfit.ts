import { AppError } from "@atelier/server/platform";

/**
 * How torch and drivers say that the process has lost its card. All that follows fails as well, until somebody restarts the
 * server, which itself goes on and answers.
 */
const lostCards: readonly RegExp[] = [
  /\b(?:CUDA|HIP)(?: runtime)? error\b.{0,60}\b(?:illegal (?:memory access|address|instruction)|unspecified launch failure|device-side assert|misaligned address|uncorrectable (?:NVLink|ECC)|launch timed out|hardware stack error|driver shutting down|context is destroyed|unknown error)/i,
  /\bcudaError(?:IllegalAddress|IllegalInstruction|LaunchFailure|Assert|MisalignedAddress|ECCUncorrectable|LaunchTimeout|ContextIsDestroyed)\b/,
  /\bhipError(?:IllegalAddress|LaunchFailure|Assert|ECCNotCorrectable|LaunchTimeOut|ContextIsDestroyed)\b/,
  /\bUR_RESULT_ERROR_DEVICE_LOST\b|\bGPU (?:is lost|has fallen off the bus)\b|\bDXGI_ERROR_DEVICE_(?:REMOVED|HUNG|RESET)\b|\bGPU device instance has been suspended\b/i,
  /\bno (?:CUDA|HIP|XPU) GPUs? (?:is|are) available\b|\bno (?:CUDA|ROCm)-capable device is detected\b/i,
];

/** Whether an exception of a server says so; `said` has none of the user's texts. */
export const saysLostCard = (said: string): boolean => lostCards.some((text) => text.test(said));

const lostCard = "lost_card";

const message = "The server has lost its graphics card. It works again once somebody restarts it.";

/** The error of a run on such a server: charged, since each of its tries may lose a card. */
export function lostCardFailure(details: Readonly<Record<string, unknown>>, cause?: unknown): AppError {
  return new AppError("engine_failed", message, { details: { ...details, reason: lostCard }, cause });
}

/** Whether a run failed since its server has lost its card. */
export const isOfLostCard = ({ details }: AppError): boolean => details?.["reason"] === lostCard;

/** The error of a run on a server that was known to have lost its card: the job is not at fault. */
export function excused(error: AppError, { hasLostCard }: { readonly hasLostCard: boolean }): AppError {
  if (!hasLostCard || !isOfLostCard(error)) return error;
  const { details = {}, cause } = error;
  return new AppError("server_lost", message, { details, cause });
}
