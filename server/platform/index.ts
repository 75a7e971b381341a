/**
 * What every other folder may import: environment, configuration, errors, log, ids of rows and of requests, addresses, text
 * from outside.
 *
 * `errors.ts` holds the closed table of error codes; `env.ts` is the only reader of the environment. Nothing of the
 * product is imported here.
 */
export { isTimeout, orAborted, orLate } from "./aborts.ts";
export { backoffMs } from "./backoff.ts";
export { isOutOfSpace } from "./disk-errors.ts";
export { isOwnLack, isOwnMemory, undecoded, undecodedFile } from "./undecoded.ts";
export {
  AppError,
  isAppError,
  isErrorCode,
  isFault,
  ruleOf,
  toAppError,
  toProblem,
  toUploadError,
  errorRules,
  type ErrorCode,
} from "./errors.ts";
export { type FieldIssue, issuesOf, lineOfIssues } from "./issues.ts";
export { answerRaw, isUpgrade, pathOfTarget, pushPath, taskUpdatesPath } from "./upgrades.ts";
export {
  isLoopback,
  isSameIssuer,
  namesLoopback,
  networksOf,
  originOf,
  parseRanges,
  lengthHeader,
  refusedMethodHeader,
  visitorAddress,
} from "./addresses.ts";
export {
  isId,
  newId,
  firstIdAt,
  flagOfText,
  hasFewValues,
  isStorable,
  jsonObject,
  lineOfText,
  momentOfText,
  parseAsked,
  parseForeignJson,
  parseRequest,
  problemOfField,
  requireReadable,
  storableText,
  textOfRequest,
  withoutQuoted,
  foreignBytes,
  foreignCount,
  foreignText,
} from "./text.ts";
export { normalized } from "./normalized.ts";
export { childEnv } from "./child-env.ts";
export { countByDay, dayOf } from "./days.ts";
export { addressBelow, credentialsProblem, keyHeaders, modelsAddress, offersEmail } from "./env-addresses.ts";
export { findMisspelled, inspectEnv, parseEnv, type Env } from "./env.ts";
export { ConfigError, type ConfigProblem, isQuoted, readConfigProblems } from "./config-problems.ts";
export {
  /** @public */
  defineConfig,
  findVainStarts,
  loadConfig,
  loadConfigOr,
  parseConfig,
  type Config,
  type ConfigInput,
  type QueueNeeds,
} from "./config.ts";
export { clientSecretOf, type IdentityProvider } from "./config-sign-in.ts";
export { isUnsent, openTunnel, outsideFetch, patientFetch, readProxy, useProxies } from "./proxy.ts";
export { explain, faultOfAddress } from "./no-answer.ts";
export { safeFetch } from "./safe-fetch.ts";
export { hostEntryOf, checkUrl, isOwnNetwork, resultHosts } from "./public-addresses.ts";
export { isFunction, type Later, streamMs } from "./functions.ts";
export { retryAfterInText, retryAfterOf } from "./retry-after.ts";
export { pictureLimits } from "./picture-limits.ts";
export { type Holder, places, sharesOf, takePlace } from "./places.ts";
export { createPermits, oneAtATime, type Weight, type WithPermit } from "./permits.ts";
export { closeKept, keepNewest, keptBy } from "./kept.ts";
export { hashOfToken, openSealed, seal, sealedHead, sealedMark } from "./sealing.ts";
export {
  currentRequestId,
  asOperator,
  currentSender,
  noteSender,
  requestIdHeader,
  underRequestId,
} from "./request-id.ts";
export {
  currentTraceparent,
  inSpan,
  openTracing,
  traceCollectorUrl,
  type SpanStart,
  type Tracing,
  underTraceparent,
} from "./tracing.ts";
export { logConnectionErrors } from "./connection-log.ts";
export { leaveOutRepeats, followLog, openLog, type Logger } from "./log.ts";
