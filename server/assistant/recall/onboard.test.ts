import { addTinyTextModel } from "@atelier/testing/text-model";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "../../db/index.ts";
import { addSpeaker, importTalks } from "../import-talks.ts";
import { findVectorModel, vectorModel } from "../models.ts";
import { recall } from "./recall.ts";
import { embedMissing } from "../stages/index.ts";

let fixture: TestServices;
beforeAll(async () => {
  fixture = await createTestServices({ config: { assistant: { embedding: { queryTimeoutS: 30 } } } });
});
afterAll(() => fixture.close());

test("B5 memory is searched by meaning without any key once the text model is added, and costs nothing", async () => {
  const { services } = fixture;
  expect(vectorModel(services)).toBeNull();
  const named = { ...services, env: { ...services.env, LLM_EMBEDDING_MODEL: "onboard/another" } };
  expect(findVectorModel(named)).toMatchObject({ problem: expect.stringContaining("atelier models add") });
  await addTinyTextModel(services.env);
  expect(vectorModel(services)).toMatchObject({
    id: "onboard/multilingual-e5-small",
    price: { inputUsd: 0 },
  });
  const userId = await addSpeaker(services.db, "Ann");
  const texts = ["zzzz yyyy", "badec", "mnopq rst"];
  const talk = texts.map((text, at) => ({
    session: "one",
    id: `${at}`,
    at: new Date(Date.UTC(2026, 3, 1 + at)),
    speaker: "Ann",
    text,
  }));
  await importTalks(services.db, userId, talk);
  const signal = new AbortController().signal;
  expect(await embedMissing(services, { signal, isForced: true })).toBe(texts.length);
  const rows = await services.db.select().from(schema.recallVectors);
  expect(rows.map(({ dimensions }) => dimensions)).toEqual([32, 32, 32]);
  // No word is common: only the letters are.
  const hits = await recall(services, userId, "abcde", { limit: 3 });
  expect(hits.map(({ text }) => text)).toContain("badec");
});
