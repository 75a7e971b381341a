/**
 * The assistant: answers questions about the studio, remembers earlier talks and proposes jobs. A question is one row of
 * `assistant_runs`:
 *
 *            analyze              assemble             respond
 *     new ─▶ analyzing ─▶ analyzed ─▶ assembling ─▶ ready ─▶ responding ─▶ completed
 *      ▲         │           ▲            │           ▲          │
 *      └─────────┘           └────────────┘           └──────────┘   worker lost or stopping: back to the status before
 *     analyzing, assembling, responding ──▶ failed
 *
 * Terms. Question: what a user asks; a variable with its row or view is called `run`. Stage: the work between two resting
 * statuses. Message: a line of the log of a conversation. Memory: a summary of what was said, made by the archivist or
 * written by the user. Recall: the search in messages and memories. Proposal: a job that the assistant would start; only the
 * user does, by a click.
 *
 * Rules. Only `life.ts` writes `status`, each time with the guard of the lease; of several workers one wins. A trigger
 * writes the story (`assistant_run_events`). Hints tell of each status after its commit; the sweep of the workers and the
 * poll of the live feed find what was not heard. Everything is
 * read and done as the user who asked. Words of pictures, files, tools and other users never become memory. Calls of
 * models are in `stages/`, which workers load, and the pages for a search by meaning or a trial of a prompt (`trial.ts`).
 * Nothing here starts, deletes, sends or pays on its own.
 *
 * Start reading at `life.ts`, then `ask.ts` and `stages/`.
 */
export { pruneTalks } from "./archive-log.ts";
export { type AcceptedQuestion, ask, askSchema, stopQuestion } from "./ask.ts";
export { pictureRecipient } from "./given.ts";
export { questionSource, type QuestionUpdate } from "./live.ts";
export { metricsOf } from "./metrics.ts";
export { type AssistantFigures, readDescriptionFigures, readFigures, type StageFigures } from "./figures.ts";
export { addSpeaker, type ForeignMessage, importTalks } from "./import-talks.ts";
export {
  findStageModel,
  findVectorModel,
  hostOf,
  keyNames,
  mayQuestionsCost,
  type ModelStage,
  vectorModel,
  visionModel,
} from "./models.ts";
export { improvePrompt, improveSchema } from "./improve.ts";
export { listModelNotes } from "./model-notes.ts";
export {
  addMemory,
  deleteMemory,
  editMemory,
  exportMemories,
  forgetEverything,
  listMemories,
  listMemoriesSchema,
  memoryText,
  type MemoryView,
  readSources,
} from "./memories.ts";
export { activatePrompt, addPrompt, listPrompts, promptText, type PromptVersion } from "./prompts.ts";
export { approve, decline, type ProposalView } from "./proposals.ts";
export {
  readClientQuestion,
  readConversation,
  readConversationSchema,
  readUsed,
  type QuestionView,
  type Turn,
} from "./read.ts";
export { recall } from "./recall/recall.ts";
export { findDueQuestions, findEnds, recoverQuestions, QuestionLost } from "./recover.ts";
export {
  capture,
  completeQuestion,
  completeStopped,
  endStage,
  failQuestion,
  handBackStage,
  isEnded,
  leaseOf,
  type QuestionRow,
  type Stage,
  stageAt,
} from "./life.ts";
export { describesPictures, isMemoryPaused, pauseMemory, setDescribesPictures } from "./settings.ts";
export {
  listQuestions,
  listQuestionsSchema,
  readQuestionStory,
  type QuestionStory,
  type QuestionSummary,
} from "./stories.ts";
export { type Forms, mendArguments, saidArguments } from "./stages/mend-call.ts";
export { findTalks, findTalksSchema } from "./find-talks.ts";
export {
  changeConversation,
  changeConversationSchema,
  deleteConversation,
  listConversations,
} from "./talks.ts";
export { type Trial, type TrialOutcome, trialSchema, type TrialSide, tryPrompt } from "./trial.ts";
