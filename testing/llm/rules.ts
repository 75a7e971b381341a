import { z } from "zod";
import { type LlmReply, type LlmRequest, textOf } from "./llm.ts";

const analyzed = z.looseObject({ question: z.string() });

/**
 * Answers without understanding: an analysis for those who ask for JSON, else a sentence about the last question. "show"
 * makes it search the gallery and show what it finds, "upscale" makes it propose that for the first one, "make" and "create" make
 * it propose a picture, "slowly" lets it take its time for each word.
 */
export function answerByRules(request: LlmRequest): LlmReply {
  if (request.response_format !== undefined) return { text: JSON.stringify(formOf(request)) };
  const last = request.messages.at(-1);
  const question = textOf(request.messages.findLast(({ role }) => role === "user") ?? { role: "user" });
  if (last?.role === "tool") return afterTool(request, question);
  const hasTools = (request.tools?.length ?? 0) > 0;
  const words = wordsOf(question);
  if (hasTools && /\b(show|find|upscale)\b/i.test(question))
    return { toolCalls: [{ name: "search_gallery", args: { words } }] };
  if (hasTools && /\b(make|create|draw)\b/i.test(question))
    return { toolCalls: [{ name: "propose_job", args: { kind: "text_to_image", prompt: question } }] };
  const wordMs = /\bslowly\b/i.test(question) ? 600 : 15;
  return { text: `SIMULATED ANSWER: you asked "${question.slice(0, 200)}".`, wordMs };
}

const found = z.looseObject({ pictures: z.array(z.looseObject({ id: z.string() })) });

/** What follows the result of a tool: pictures that were found are shown, and the answer ends. */
function afterTool({ messages }: LlmRequest, question: string): LlmReply {
  const last = messages.at(-1);
  const result = found.safeParse(readJson(last ? textOf(last) : ""));
  if (!result.success) return { text: "SIMULATED ANSWER: done.", wordMs: 15 };
  const ids = result.data.pictures.slice(0, 4).map(({ id }) => id);
  if (ids.length === 0) return { text: "SIMULATED ANSWER: there is no such picture.", wordMs: 15 };
  if (/\bupscale\b/i.test(question))
    return {
      text: "I can do that:",
      toolCalls: [{ name: "propose_job", args: { kind: "upscale", image: ids[0], scale: 2 } }],
    };
  return { text: "Here they are:", toolCalls: [{ name: "show_images", args: { imageIds: ids } }] };
}

const improvable = z.strictObject({ prompt: z.string() });

/** The object that was asked for: an improved prompt, or that of the analyzer, or of the archivist. */
function formOf({ messages, response_format: format }: LlmRequest): object {
  const material = readJson(textOf(messages.at(-1) ?? { role: "user" }));
  const improved = improvable.safeParse(material);
  if (improved.success)
    return { prompt: `${improved.data.prompt}, soft window light, shallow depth of field` };
  const question = analyzed.safeParse(material);
  if (JSON.stringify(format).includes("searchKeywords"))
    return {
      needsContext: true,
      contextType: "both",
      timeScope: null,
      searchKeywords: question.success ? wordsOf(question.data.question) : [],
      contextFound: [],
    };
  const said = z.looseObject({ messages: z.array(z.looseObject({ text: z.string() })) }).safeParse(material);
  const texts = said.success ? said.data.messages.map(({ text }) => text) : [];
  return {
    summary: `The user said: ${texts.join(" ").slice(0, 800)}`,
    tags: wordsOf(texts.join(" ")).slice(0, 5),
  };
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const common = new Set([
  "show",
  "find",
  "make",
  "create",
  "draw",
  "upscale",
  "the",
  "what",
  "with",
  "from",
  "that",
  "picture",
  "pictures",
]);

function wordsOf(text: string): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [];
  return [...new Set(words.filter((word) => !common.has(word)))].slice(0, 6);
}
