import type { ModelMessage, streamText, ToolSet } from "ai";
import type { QuestionContext } from "../../db/index.ts";
import type { Usage } from "./call-costs.ts";
import type { CallProgress, CallSettings } from "./calls.ts";
import { mendCall } from "./mend-call.ts";
import { ModelError } from "./model-errors.ts";
import { type Piece, splitThinking } from "./thinking.ts";

/** What becomes of an answer while it grows. */
export interface AnswerSink {
  add(text: string): void;
  /** What the model thinks; never a part of the answer. */
  think(text: string): void;
  /** All words since the last call of a tool were thinking; they come again by `think`. */
  takeBack(): void;
  noteTool(call: { readonly toolName: string; readonly input: unknown }): void;
}

interface Streaming {
  readonly context: {
    readonly instructions?: string;
    readonly messages: readonly (QuestionContext["messages"][number] | ModelMessage)[];
  };
  readonly tools: ToolSet;
  readonly maxSteps: number;
  /** The form of JSON to ask for. */
  readonly output?: Parameters<typeof streamText>[0]["output"];
  readonly progress: CallProgress;
  readonly sink: AnswerSink;
}

export interface Streamed {
  readonly usage: Usage;
  /** Tokens of what was sent first, as the server counted them. */
  readonly readTokens: number | undefined;
  /** The answer reached its limit of tokens. */
  readonly isCut: boolean;
}

/** Characters of an answer with its thinking, for each token that it may have: a server may ignore the limit of tokens. */
const charsPerToken = 16;

/** Asks the model for an answer and gives its words to the sink as they come. */
export async function streamAnswer(
  settings: CallSettings,
  { context: { instructions, messages }, tools, maxSteps, output, progress, sink }: Streaming,
): Promise<Streamed> {
  const { isStepCount, streamText } = await import("ai");
  const enough = new AbortController();
  const stream = streamText({
    ...settings,
    abortSignal: AbortSignal.any([settings.abortSignal, enough.signal]),
    ...(instructions === undefined ? {} : { instructions }),
    messages: messages as ModelMessage[],
    tools,
    repairToolCall: mendCall,
    stopWhen: isStepCount(maxSteps),
    ...(output ? { output } : {}),
    onError: () => undefined,
  });
  const answer = splitAnswer(sink, settings.maxOutputTokens * charsPerToken);
  let isCut = false;
  let readTokens: number | undefined;
  let [step, hasCalls] = [1, false];
  for await (const part of stream.stream) {
    if (part.type === "error") throw errorOf(part.error);
    if (part.type === "text-delta") progress.noteFirstText();
    noteWork(progress, part.type);
    hasCalls ||= part.type === "tool-call";
    if (part.type === "finish-step") {
      readTokens ??= part.usage.inputTokens;
      // Not by its reason: some servers end a step with calls by "stop".
      progress.noteStep(part.usage, hasCalls && step < maxSteps);
      [step, hasCalls] = [step + 1, false];
      isCut = part.finishReason === "length";
    }
    if (answer.take(part)) continue;
    enough.abort(new Error("The answer is longer than any that was asked for."));
    return { usage: { inputTokens: undefined, outputTokens: undefined }, readTokens, isCut: true };
  }
  settings.abortSignal.throwIfAborted();
  const { inputTokens, outputTokens } = await stream.totalUsage;
  return { usage: { inputTokens, outputTokens }, readTokens, isCut };
}

/** Some servers send what went wrong as an event of the stream: its shape is theirs. */
function errorOf(error: unknown): Error {
  return error instanceof Error ? error : new ModelError("unavailable", undefined, { cause: error });
}

/** A new step waits for the model again; words, thoughts and parts of calls are signs of it. */
function noteWork(progress: CallProgress, type: string): void {
  if (type === "tool-result" || type === "finish-step") progress.noteTurn();
  else if (/delta|tool/.test(type)) progress.noteSign();
}

type Part = { readonly type: string } & Partial<Readonly<Record<"text" | "toolName" | "input", unknown>>>;

/** Gives words and thoughts to the sink, up to so many characters; `take` is false when they are used up. */
function splitAnswer(sink: AnswerSink, maxCharacters: number): { take(part: Part): boolean } {
  let left = maxCharacters;
  let splitter = splitThinking(() => sink.takeBack());
  const give = (pieces: readonly Piece[]) => {
    for (const { type, text } of pieces) {
      const kept = text.slice(0, left);
      left -= kept.length;
      if (kept === "") return;
      if (type === "thinking") sink.think(kept);
      else sink.add(kept);
    }
  };
  return {
    take({ type, text, toolName, input }) {
      if (type === "tool-call") sink.noteTool({ toolName: String(toolName), input });
      if (type === "text-delta") give(splitter.add(String(text)));
      if (type === "reasoning-delta") give([{ type: "thinking", text: String(text) }]);
      if (type === "finish-step") {
        give(splitter.end());
        splitter = splitThinking(() => sink.takeBack());
      }
      return left > 0;
    },
  };
}
