import {
  errorShapes,
  expectedClients,
  type PictureForm,
  startProvider,
  startScripted,
} from "@atelier/testing/providers";
import { describe, expect, it, vi } from "vitest";
import { clientOf } from "./clients.ts";
import { blameOf, ProviderError, type ProviderName, providerNames, type RunState } from "./port.ts";

const forms = [
  "address",
  "data uri",
  "percent-encoded",
  "base64",
  "base64 with a prefix",
] as const satisfies readonly PictureForm[];

type Simulated = Awaited<ReturnType<typeof startProvider>>;

/** The run of a submit once it has ended. */
async function endedRun(name: ProviderName, { access }: Simulated): Promise<RunState> {
  const { endpoint, input } = expectedClients[name];
  const submission = {
    endpoint,
    kind: "edit",
    input: input(),
    idempotencyKey: "k",
    webhookUrl: null,
    beforePaid: () => Promise.resolve(),
  } as const;
  const client = clientOf(name);
  const signal = AbortSignal.timeout(30_000);
  const { handle, run } = await client.submit(access, submission, signal);
  if (!client.isAsynchronous) return run;
  return vi.waitFor(async () => {
    const asked = await client.get(access, handle, signal);
    if (asked.state === "queued" || asked.state === "running") throw new Error("The run goes on.");
    return asked;
  });
}

describe.each(providerNames)("A result of %s", (name) => {
  it.each(forms)("E6 is taken as %s", async (form) => {
    const simulated = await startProvider(name);
    const { simulator } = simulated;
    try {
      Object.assign(simulator, { pictureForm: form, runMs: 1 });
      const run = await endedRun(name, simulated);
      const outputs = run.state === "succeeded" ? run.outputs : [];
      const made = outputs.map(async (output) =>
        "bytes" in output ? output.bytes : new Uint8Array(await (await fetch(output.url)).arrayBuffer()),
      );
      const bytes = (await Promise.all(made)).map((one) => Buffer.from(one));
      expect(bytes).toEqual([await simulator.picture()]);
    } finally {
      await simulator.close();
    }
  });
});

/** What a call ends with: an error that is thrown, or the failure of a run. */
async function errorOf(call: Promise<unknown>): Promise<unknown> {
  const ended = await call.catch((error: unknown) => error);
  if (ended instanceof ProviderError) return ended;
  // Safe: reads members that may be missing.
  const { run = ended } = ended as { run?: unknown };
  return (run as { error?: unknown }).error ?? run;
}

describe.each(providerNames)("A failure of %s", (name) => {
  it.each(errorShapes[name].map((shape) => [shape[0], shape] as const))(
    "E4 is the fault of the right one: %s",
    async (_, [, asked, answer, errorClass, words]) => {
      const scripted = await startScripted(name);
      try {
        // The status of a run at fal is not its result.
        const status = { status: 200, body: JSON.stringify({ status: "COMPLETED" }) };
        scripted.answer = ({ path }) => (path.endsWith("/status") && name === "fal" ? status : answer);
        const error = await errorOf(asked === "submit" ? scripted.submit() : scripted.get());
        expect(error).toMatchObject({ class: errorClass, ...(words === undefined ? {} : { words }) });
      } finally {
        await scripted.close();
      }
    },
  );
});

it("E4 each class of errors is somebody's: the user's, the operator's, or an outage", () => {
  const blames = Object.groupBy(
    [
      "moderation",
      "gate",
      "input",
      "auth",
      "credit",
      "model",
      "capacity",
      "rate",
      "transient",
      "lost",
      "unsent",
      "unstored",
      "timeout",
      "internal",
    ],
    blameOf,
  );
  expect(blames).toEqual({
    content: ["moderation", "gate"],
    request: ["input"],
    operator: ["auth", "credit", "model"],
    outage: ["capacity", "rate", "transient", "lost", "unsent", "unstored", "timeout", "internal"],
  });
});

it.each([
  ["NUL", "no\0thing", "no thing"],
  ["half of a pair", "no \ud83d", "no \ufffd"],
  ["lines and signs of direction", "a\n\tb\u202ec", "a b c"],
  ["nothing but blanks", "  \n ", null],
])("M1 a foreign sentence is clean and bounded: %s", (_, words, clean) => {
  const error = new ProviderError("input", `${words}${"x".repeat(5_000)}`, { words });
  expect([error.words, error.message.length, error.message.isWellFormed()]).toEqual([clean, 1_000, true]);
  expect(error.message).not.toContain("\0");
  expect(new ProviderError("input", "m", { words: "y".repeat(900) }).words).toHaveLength(200);
});
