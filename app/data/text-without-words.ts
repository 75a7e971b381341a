import type { SubmitInput } from "@atelier/server/jobs";

/** A request as JSON whose words are a stand-in: they say nothing about time, and addresses of requests are logged. */
export function textWithoutWords(request: SubmitInput): string {
  // Some workflows must have words, so that some stay some.
  const isWords = (name: string, value: unknown) =>
    (name === "prompt" || name === "negativePrompt") && value !== "";
  return JSON.stringify(request, (name, value: unknown) => (isWords(name, value) ? "…" : value));
}
