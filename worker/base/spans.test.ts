import { startTraceCollector } from "@atelier/testing/otlp";
import type { Job } from "@atelier/server/jobs";
import { inspectEnv, openTracing } from "@atelier/server/platform";
import pino from "pino";
import { expect, onTestFinished, test } from "vitest";
import { inModelSpan, inRunSpan } from "./spans.ts";

const prompt = "a lighthouse at dusk";

/** The spans of a run of a model, as a collector gets them with this environment. */
async function traced(source: Readonly<Record<string, string>>) {
  const collector = await startTraceCollector();
  onTestFinished(() => collector.close());
  const { env } = inspectEnv({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...source });
  const tracing = await openTracing(env, { name: "worker", log: pino({ enabled: false }) });
  // Safe cast: the spans read these fields alone.
  const job = {
    id: "01a22b16-5faa-7159-b482-0f67c4d99288",
    kind: "text_to_image",
    queue: "cloud",
    need: "cloud",
    attempt: 1,
    traceparent: null,
    params: { prompt, seed: 5 },
  } as unknown as Job;
  const model = { job, provider: "openai", model: "gpt-image-2" };
  const failing = inRunSpan({ tracing }, job, () =>
    inModelSpan({ tracing }, model, () => Promise.reject(new Error(`refused: ${prompt}`))),
  );
  await expect(failing).rejects.toThrow("refused");
  await tracing?.close();
  await expect.poll(() => collector.spans()).toHaveLength(2);
  return collector;
}

test("S9 a call of a provider has the names of the conventions, and no prompt, also when it fails", async () => {
  const collector = await traced({});
  const [call, run] = collector.spans();
  expect(call).toMatchObject({ name: "generate_content gpt-image-2", kind: 3, isError: true });
  expect(call?.parentSpanId).toBe(run?.spanId);
  expect(call?.attributes).toEqual({
    "gen_ai.operation.name": "generate_content",
    "gen_ai.output.type": "image",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-image-2",
    "gen_ai.request.seed": 5,
    "error.type": "Error",
  });
  expect(collector.text()).not.toContain("lighthouse");
});

test("S9 it has the prompt where the operator asked for it", async () => {
  const collector = await traced({ OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true" });
  const messages = [{ role: "user", parts: [{ type: "text", content: prompt }] }];
  const [call] = collector.spans();
  expect(call?.attributes["gen_ai.input.messages"]).toBe(JSON.stringify(messages));
});
