/**
 * The gate: refuses pictures in which a small model sees nudity, before a job runs and after it. Off until the operator sets a
 * threshold for a kind of job (`safety` in `atelier.config.ts`) and adds the model: `atelier models add content-gate FILE`.
 *
 * - score: how likely a picture is pornographic by the model Open NSFW, 0 to 1. It knows photographs, and errs.
 * - refused: the score of an input or a result is at or above the threshold of the kind.
 *
 *     inputs copied ─▶ admitInputs ─▶ run or purchase ─▶ admitResults ─▶ stored
 *                          └─ input_refused                  └─ result_refused: nothing is kept, what a provider charged stays
 *
 * A worker offers no kind that it could not look at (`canJudge`). Fails closed: without the model, or when it cannot be run,
 * no job of a kind with a threshold runs (`gate_unavailable`). A refusal is logged and audited by job, kind and score; the
 * picture is in neither, and masks are not looked at.
 */
export {
  admitInputs,
  admitResults,
  canJudge,
  gateModel,
  hidesPreviews,
  isDamaged,
  readyGate,
} from "./gate.ts";
export { toModelInput } from "./model-input.ts";
