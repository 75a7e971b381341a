import { objectOf } from "../json.ts";
import { historyOf, post } from "../recorded/client.ts";
import { listenIn, type Ear } from "../recorded/listen-in.ts";
import { settle } from "../recorded/settle.ts";
import type { RunScene } from "./run-scenes.ts";
import { shorten } from "./shorten.ts";

/** Plays a scene on a server, real or simulated: what the owner and a stranger heard, and what the history keeps. */
export async function playScene(url: string, { prompts }: RunScene): Promise<unknown> {
  const ears = [await listenIn(url, "owner", true), await listenIn(url, "stranger", true)];
  const played = [];
  try {
    for (const { graph, more } of prompts) {
      for (const ear of ears) ear.take();
      const idle = Promise.all(ears.map(untilIdle));
      const [status, body] = await post(`${url}/prompt`, { prompt: graph, client_id: "owner", ...more });
      const promptId = String(objectOf(body).prompt_id);
      const { outputs, status: ended } = await historyOf(url, promptId);
      await idle;
      if (more?.client_id === undefined) await ears[0]?.untilEnd(promptId);
      const [owner, stranger] = ears.map((ear) => ear.take().filter(isOfPrompt).map(shorten));
      const { messages, ...end } = objectOf(ended);
      const kept = Array.isArray(messages) ? messages.map(shorten) : [];
      const shownId = promptId === "None" ? promptId : "drawn";
      played.push({ posted: status, promptId: shownId, owner, stranger, outputs, end, kept });
    }
  } finally {
    for (const ear of ears) ear.close();
  }
  return settle(played);
}

/** Until a prompt that is not posted yet has ended: every socket hears then that the queue is empty. */
function untilIdle(ear: Ear): Promise<void> {
  const from = ear.heard.length;
  return ear.until(() => ear.heard.slice(from).map(objectOf).some(isIdle));
}

function isIdle({ type, data }: Record<string, unknown>): boolean {
  const { exec_info: info } = objectOf(objectOf(data).status);
  return type === "status" && objectOf(info).queue_remaining === 0;
}

function isOfPrompt(message: unknown): boolean {
  return objectOf(message).type !== "status";
}
