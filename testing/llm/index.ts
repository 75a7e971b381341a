/**
 * SIMULATED language models: a server with the chat API of OpenAI on 127.0.0.1, for tests and for trying the assistant by
 * hand. It understands nothing: `answer` decides by a script or by plain rules (`rules.ts`) what is said, and vectors are
 * counts of letters with a short list of synonyms (`embeddings.ts`). A picture is described by its mean colour (`pictures.ts`).
 *
 * Terms. Reply: what one request gets: words, calls of tools, a fault. Meter: tokens that the server counted for each
 * request, as an invoice would.
 */
import { type Llm, type LlmOptions, openLlm } from "./llm.ts";
import { answerToPicture } from "./pictures.ts";
import { answerByRules } from "./rules.ts";

export { absentModels, describeByColour, picturesOf, pictureRefusals, type SentPicture } from "./pictures.ts";
export { type Llm, type LlmReply, type LlmRequest, textOf } from "./llm.ts";
export { answerByRules } from "./rules.ts";

/** Starts the server; it answers by the rules until a test says otherwise. */
export function startLlm(options: Partial<LlmOptions> = {}): Promise<Llm> {
  const answer: Llm["answer"] = async (request) => (await answerToPicture(request)) ?? answerByRules(request);
  return openLlm({ answer, ...options });
}
