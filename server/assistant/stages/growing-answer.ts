import type { AnswerPart } from "../../db/index.ts";
import type { Services } from "../../services.ts";
import { type Answer, leaseOf, type QuestionRow, storePartialAnswer } from "../life.ts";
import { QuestionLost } from "../recover.ts";
import type { AnswerSink } from "./stream.ts";
import type { Shown } from "./tools.ts";

const tellMs = 60;
const storeMs = 1_000;

export interface RespondInput {
  /** Ends the stage without an answer. */
  readonly signal: AbortSignal;
  /** The user wants no more: what there is of the answer is the answer. */
  readonly stop: AbortSignal;
}

export interface Ends {
  /** Ends the stage without an answer. */
  readonly signal: AbortSignal;
  readonly stop: AbortSignal;
  /** What the row said when the answer was stored last. */
  note(stored: Awaited<ReturnType<typeof storePartialAnswer>>): void;
}

/** The notice of a stop or of another worker may be lost: the row says it, too. */
export function watchEnds({ signal, stop }: RespondInput): Ends {
  const lost = new AbortController();
  const stopped = new AbortController();
  return {
    signal: AbortSignal.any([signal, lost.signal]),
    stop: AbortSignal.any([stop, stopped.signal]),
    note({ isHeld, isStopped }) {
      if (!isHeld) lost.abort(new QuestionLost());
      else if (isStopped) stopped.abort(new Error("the user stopped the answer"));
    },
  };
}

export interface GrowingAnswer extends AnswerSink {
  noteCut(): void;
  show(part: Shown): void;
  answer(): Answer;
  /** Tells the rest, and waits for what is being stored; the rest itself is stored by who completes the question. */
  end(): Promise<void>;
}

const blanksBefore = (text: string) => text.length - text.trimStart().length;

/** Collects an answer; every 60 ms its new words are told to the pages, every second it is stored. */
export function startAnswer(services: Services, run: QuestionRow, ends: Ends): GrowingAnswer {
  const { id, attempt } = run;
  const parts: AnswerPart[] = [];
  let text = "";
  let thinking = "";
  /** Where the words begin that may still turn out to be thinking. */
  let turnAt = 0;
  let toldLength = 0;
  let usesTools = false;
  let writing: Promise<unknown> = Promise.resolve();
  const afterEarlier = (work: () => Promise<unknown>) => {
    writing = writing.then(work).catch((error: unknown) => {
      services.log.debug({ err: error, runId: id }, "a part of an answer could not be stored");
    });
  };
  const tell = () => {
    if (text.length === toldLength) return;
    const words = { runId: id, attempt, at: toldLength, text: text.slice(toldLength) };
    toldLength = text.length;
    services.hints.publish({ type: "answer", words });
  };
  const store = () => {
    const partial = { answer: text, thinking, parts: [...parts] };
    afterEarlier(async () => ends.note(await storePartialAnswer(services, leaseOf(run), partial)));
  };
  const telling = setInterval(tell, tellMs);
  const storing = setInterval(store, storeMs);
  return {
    add(words) {
      text += words.replaceAll("\0", "");
    },
    think(words) {
      thinking += words.replaceAll("\0", "");
    },
    takeBack() {
      text = text.slice(0, turnAt);
      if (toldLength <= text.length) return;
      toldLength = text.length;
      services.hints.publish({ type: "answer", words: { runId: id, attempt, at: toldLength, text: "" } });
    },
    noteCut() {
      if (text.trim() !== "") text += " …";
    },
    show(part) {
      // Safe: each kind of part gets its own place.
      parts.push({ ...part, at: text.length } as AnswerPart);
      store();
    },
    noteTool() {
      // Its words may come from pictures or files.
      usesTools = true;
      turnAt = text.length;
    },
    answer: () => ({
      text: text.trimStart().toWellFormed(),
      // Places were counted in the text with its leading blanks, which are cut off here.
      parts: parts.map((part) => ({ ...part, at: Math.max(0, part.at - blanksBefore(text)) })),
      thinking: thinking.trim().toWellFormed(),
      isRecalled: !usesTools,
    }),
    async end() {
      clearInterval(telling);
      clearInterval(storing);
      tell();
      await writing;
    },
  };
}
