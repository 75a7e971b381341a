import type { PromptEvent } from "./parse-event.ts";
import type { PreviewFrame } from "./parse-preview.ts";

/** Tells which frames of a socket are about one prompt. */
export interface Sieve {
  passesEvent(event: PromptEvent): boolean;
  passesPreview(frame: PreviewFrame): boolean;
  /** The socket broke: what it says next may be about any prompt. */
  forget(): void;
}

/**
 * Servers send the pictures and steps of prompts that were posted without a client to every socket, and some of them name
 * no prompt. A server executes one prompt at a time: such frames are ours only while ours is executed.
 */
export function createSieve(promptId: string): Sieve {
  let isExecuting = false;
  let namesPreviews = false;
  return {
    passesEvent(event) {
      if (event.type === "feature_flags") {
        namesPreviews ||= event.data.supports_preview_metadata === true;
        return false;
      }
      const named = event.data.prompt_id;
      if (named ? named !== promptId : !isExecuting && !isGreeting(event)) return false;
      isExecuting = !isEnd(event);
      return true;
    },
    passesPreview: ({ promptId: named }) => (named ? named === promptId : isExecuting && !namesPreviews),
    forget() {
      isExecuting = false;
    },
  };
}

/** Whether the server told that the prompt of the event is done. */
export function isEnd(event: PromptEvent): boolean {
  return event.type === "executing" ? event.data.node === null : event.type === "execution_end";
}

/** A new socket is told without an id what its own client's prompt is at. */
function isGreeting(event: PromptEvent): boolean {
  return event.type === "executing" && event.data.node !== null;
}
