/**
 * Image providers: which models they offer, how each is called, what may be spent, and what became of each request.
 * An attempt is one request to a provider for a job, a row of `provider_attempts`, stored before the call. `life.ts` says
 * who moves it where:
 *
 *     submitting ──answer──▶ accepted ──▶ succeeded | failed | cancelled
 *         │  │                   ▲
 *         │  └─refused─▶ failed  │ found again: by the provider's list, its webhook, or the same idempotency key
 *         └─answer lost─▶ unknown┴──never accepted, not found in time, or no worker has its key──▶ failed
 *
 * Terms. Model: what users choose; its offers say how each provider runs it, and their order is its chain. Key: one API
 * key; activity, rate and cooldown are derived from its attempts and never counted apart, so that nothing can leak. Price:
 * what the model list says before; cost: what the provider says after. Cap: a limit of spending.
 *
 * Rules. No client repeats a call. Whether a job may be submitted again is decided by the state of its attempts alone:
 * never while one of them may have been accepted. Nothing here writes rows of jobs; see `server/jobs/cloud-end.ts`.
 */
export { isAgreed, mayBuy } from "./agreed.ts";
export { paidKinds, readKeys, type ProviderKey, webhookAccess } from "./access.ts";
export {
  type Attempt,
  attemptFromRow,
  attemptHoldMs,
  attemptsOf,
  type ChainFacts,
  type Intent,
  ownOutageMs,
  paidUsd,
  pruneAttempts,
  readFacts,
  readWaitMs,
  reserve,
  wordsOf,
} from "./attempts.ts";
export { chainOf, enableProvider, orderChain, readChain } from "./chain.ts";
export { clientOf, type KeyAnswer, tryKey } from "./clients.ts";
export {
  type DueAttempt,
  hasNoHolder,
  knowsToken,
  noteWebhook,
  postponeAttempt,
  takeDueAttempts,
  takeUnheldAttempts,
} from "./follow.ts";
export {
  acceptAttempt,
  endAttempt,
  failAttempt,
  failedIn,
  findLostCalls,
  holdAttempt,
  isFollowed,
  isOpenState,
  loseAttempt,
} from "./life.ts";
export { fillTemplate, type TemplateValues } from "./mapping.ts";
export { type Hindrance, readMarket, type Ware } from "./market.ts";
export { findModel, modelsFor, modelsOf } from "./models.ts";
export { bytesOfText, isPictureStart } from "./outputs.ts";
export { kindOfRefusal } from "./refusals.ts";
export {
  blameOf,
  type CloudModel,
  type ModelOffer,
  type ProviderAccess,
  type ProviderClient,
  ProviderError,
  type ProviderName,
  type ProviderOutput,
  providerNames,
  titleOfProvider,
  type ProviderPicture,
  type RunHandle,
  type RunState,
  type Submission,
  type Submitted,
} from "./port.ts";
export {
  type AttemptView,
  type HeldKeys,
  type OfferedModel,
  type KeyReport,
  type ProviderReport,
  readChainViews,
  readOfferedModels,
  readProviders,
  readSetupFaults,
  type SetupFault,
  readSpendLines,
  toAttemptView,
} from "./report.ts";
export { checkCaps, type KeyBudget, type KeyCap, readKeyBudgets } from "./key-caps.ts";
export {
  dollars,
  isWithinUsd,
  lockSpend,
  readCaps,
  readOwnCaps,
  readSpend,
  setCaps,
  spentOf,
  sumPastDays,
} from "./spend.ts";
export { lackOf, lacksOf, mayTake, offersFor, paramsTaken } from "./takes.ts";
