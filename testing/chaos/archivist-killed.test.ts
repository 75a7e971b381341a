// @module-tag all
import { resolveCaller } from "@atelier/server/accounts";
import { listMemories } from "@atelier/server/assistant";
import { archive } from "@atelier/server/assistant/stages";
import { schema } from "@atelier/server/db";
import { newId } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import { expect, test } from "vitest";
import { realTimeMs } from "../cases/index.ts";
import { startLlm, textOf } from "../llm/index.ts";
import { runNode } from "../processes/index.ts";
import { createTestServices, openAccount } from "../services/index.ts";
import { eventually } from "./scene.ts";

const hourMs = 3_600_000;
const { assistantConversations, assistantMessages } = schema;

/** Two talks of one user, one after the other, that have ended. */
async function addTalks({ db }: Services, ownerId: string): Promise<void> {
  for (const [text, hoursAgo] of [
    ["I like linen.", 20],
    ["My size is M.", 10],
  ] as const) {
    const conversationId = newId();
    const at = new Date(Date.now() - hoursAgo * hourMs);
    await db.insert(assistantConversations).values({ id: conversationId, ownerId, lastAt: at });
    await db
      .insert(assistantMessages)
      .values({ id: newId(), conversationId, ownerId, role: "user", text, at });
  }
}

test(
  "B8 R1 an archivist killed while the model writes the second memory: the next one makes that one alone, and the lost call still counts",
  { timeout: realTimeMs },
  async ({ onTestFinished }) => {
    const llm = await startLlm();
    onTestFinished(() => llm.close());
    const fixture = await createTestServices({ env: llm.env });
    onTestFinished(() => fixture.close());
    const { services } = fixture;
    const account = await openAccount(services, "ann@example.com");
    const ownerId = (await resolveCaller(services, account.headers))?.userId ?? "";
    await addTalks(services, ownerId);
    const { DATABASE_URL, AUTH_SECRET, ATELIER_DATA_DIR } = services.env;
    const env = {
      ...process.env,
      ...llm.env,
      DATABASE_URL,
      AUTH_SECRET,
      ATELIER_DATA_DIR,
      LOG_LEVEL: "silent",
    };
    const summaries = async () => {
      const { items } = await listMemories(services, { ownerId });
      return items.map(({ summary }) => summary).toSorted();
    };

    let hasHung = false;
    llm.answer = (request) => {
      const material = request.messages.map(textOf).join("\n");
      const summary = material.includes("linen") ? "Likes linen." : "Wears size M.";
      if (hasHung || summary !== "Wears size M.") return { text: JSON.stringify({ summary, tags: [] }) };
      hasHung = true;
      return { delayMs: Infinity };
    };
    const first = runNode(["cli/main.ts", "archive"], env);
    await eventually(() => hasHung, true);
    first.child.kill("SIGKILL");
    expect(await first.ended).toBeNull();
    expect(await summaries()).toEqual(["Likes linen."]);

    const { signal } = new AbortController();
    const again = () => archive(services, { signal, isForced: true });
    expect(await again()).toBeNull();
    await services.db.execute(
      "update turns set held_until = now() - interval '1 second', due_at = now() - interval '1 second'",
    );
    expect(await again()).toEqual({ parts: 1, memories: 1 });
    expect(await summaries()).toEqual(["Likes linen.", "Wears size M."]);
    const calls = await services.db.execute<{ ended: boolean }>(
      "select ended_at is not null as ended from model_calls order by started_at",
    );
    expect(calls.map(({ ended }) => ended)).toEqual([true, false, true]);
  },
);
