import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { inspect } from "node:util";
import {
  breakdowns,
  cancelStates,
  expectedClients,
  type SimulatedProvider,
  startProvider,
} from "@atelier/testing/providers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { clientOf } from "./clients.ts";
import {
  type ProviderClient,
  ProviderError,
  type ProviderName,
  providerNames,
  type Submission,
  type Submitted,
} from "./port.ts";

/** The client of the provider that a test is about, with what is expected of it. */
interface Tested extends SimulatedProvider {
  readonly row: (typeof expectedClients)[ProviderName];
  readonly client: ProviderClient;
}

let tested: Tested;

async function open(name: ProviderName): Promise<void> {
  tested = { ...(await startProvider(name)), row: expectedClients[name], client: clientOf(name) };
}

afterEach(async () => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  await tested.simulator.close();
});

/** Class and wait of the error that a call ends with. S9: no error holds the key, whatever it was made of. */
async function errorOf(call: Promise<unknown>) {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(inspect(error, { depth: 9 })).not.toContain("canary");
  if (error === null) return "none";
  if (!(error instanceof ProviderError)) throw error;
  return [error.class, error.retryAfterMs];
}

const names = <Name extends string>(record: Readonly<Record<Name, unknown>>) =>
  // Safe: the records of the table have no other keys.
  Object.keys(record) as Name[];

const large = { bytes: new Uint8Array(300_000), mime: "image/png" } as const;
const endless = new AbortController().signal;

function submit(changes: Partial<Submission> = {}, signal = endless): Promise<Submitted> {
  const { access, client, row } = tested;
  const submission = {
    endpoint: row.endpoint,
    kind: "edit",
    input: row.input(),
    idempotencyKey: randomUUID(),
    webhookUrl: null,
    beforePaid: () => Promise.resolve(),
  } as const;
  return client.submit(access, { ...submission, ...changes }, signal);
}

/** A run that goes on; the requests so far are forgotten. */
async function accepted(webhookUrl: string | null = null) {
  const { access, client, simulator } = tested;
  simulator.end = "never";
  const { handle } = await submit({ webhookUrl });
  const run = simulator.runs.get(handle.externalId);
  if (!run) throw new Error("The simulator has no such run.");
  simulator.calls.length = 0;
  return {
    run,
    get: (signal = endless) => client.get(access, handle, signal),
    cancel: () => client.cancel(access, handle, endless),
  };
}

/** The end of a call without an answer: its time limit passes, or its signal, once the request is there. */
async function errorAfter(interrupt: AbortController, call: () => Promise<unknown>) {
  const ended = errorOf(call());
  await vi.waitFor(() => expect(tested.simulator.calls).toHaveLength(1));
  interrupt.abort();
  return ended;
}

/** Marks what a test itself calls: files share a process, in which an earlier one may still ask servers. */
const ownCall = new AsyncLocalStorage<true>();

/** Time limits of the test's own calls, which pass when the test says, and what was asked for. */
function holdLimits() {
  const limit = new AbortController();
  const asked: number[] = [];
  const original = AbortSignal.timeout.bind(AbortSignal);
  vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
    if (!ownCall.getStore()) return original(ms);
    asked.push(ms);
    return limit.signal;
  });
  const own = <Result>(call: () => Result) => ownCall.run(true, call);
  return { limit, asked, own };
}

const isSilent = (fault: keyof typeof breakdowns) => fault === "hang" || fault === "mute";

/** An ended run of the simulator, as a submit or a get shows it. */
async function endedAs(end: "succeeded" | "failed" | "moderated" | "flagged" | "refused") {
  const { access, client, row, simulator } = tested;
  simulator.end = end;
  const submitted = await submit().catch((error: unknown) => error);
  if (submitted instanceof ProviderError) return { state: "failed", error: submitted } as const;
  // Safe: it was answered.
  const { handle, run } = submitted as Submitted;
  if (row.result === "in the answer") return run;
  return vi.waitFor(async () => {
    const asked = await client.get(access, handle, endless);
    expect(["queued", "running"]).not.toContain(asked.state);
    return asked;
  });
}

describe.each(providerNames)("A submit to %s", (name) => {
  const row = expectedClients[name];
  beforeEach(() => open(name));

  it("E6 brings the picture that was made, for one submit", async () => {
    const run = await endedAs("succeeded");
    const outputs = run.state === "succeeded" ? run.outputs : [];
    const pictures = outputs.map(async (output) =>
      "bytes" in output ? output.bytes : (await fetch(output.url)).arrayBuffer(),
    );
    const bytes = (await Promise.all(pictures)).map((picture) => Buffer.from(new Uint8Array(picture)));
    expect(bytes).toEqual([await tested.simulator.picture()]);
    expect(tested.simulator.submits).toHaveLength(1);
  });

  it.each([
    ["failed", row.failed],
    ["moderated", "moderation"],
    ["flagged", "moderation"],
    ["refused", "moderation"],
  ] as const)("E6 tells a run that %s as %s", async (end, errorClass) => {
    expect(await endedAs(end)).toMatchObject({ state: "failed", error: { class: errorClass } });
    expect(tested.simulator.submits).toHaveLength(1);
  });

  it.each(names(row.refusals).map((fault) => [fault, row.refusals[fault]] as const))(
    "E4 names the refusal %s of a submit %j and asks once",
    async (fault, expected) => {
      tested.simulator.fault = fault;
      expect(await errorOf(submit())).toEqual(expected);
      expect(tested.simulator.calls).toHaveLength(1);
    },
  );

  it("names an overloaded server, and asks once", async () => {
    tested.simulator.fault = "refuse";
    expect(await errorOf(submit())).toEqual([row.overload, null]);
    expect(tested.simulator.calls).toHaveLength(1);
  });

  it.each(names(breakdowns))("R1 counts a submit as lost after %s, and sends it once", async (fault) => {
    const { simulator } = tested;
    simulator.fault = fault;
    const { limit, asked, own } = holdLimits();
    const call = () => own(submit);
    const error = await (isSilent(fault) ? errorAfter(limit, call) : errorOf(call()));
    expect(error).toEqual([breakdowns[fault].submit, null]);
    expect([simulator.calls.length, asked]).toEqual([1, [row.submitMs]]);
  });

  it("R1 takes an answer that came in whole from a connection that broke behind it", async () => {
    const { client, access, row, simulator } = tested;
    simulator.fault = "cut";
    const { handle, run } = await submit();
    simulator.fault = null;
    simulator.getFault = "cut";
    const ended =
      row.result === "in the answer"
        ? run
        : await vi.waitUntil(async () => {
            const asked = await client.get(access, handle, endless);
            return asked.state === "succeeded" && asked;
          });
    expect([ended.state, simulator.submits.length]).toEqual(["succeeded", 1]);
  });

  it("R1 waits for the last check after the uploads and right before the paid request", async () => {
    const { simulator } = tested;
    const seen: number[][] = [];
    const beforePaid = async () => {
      // Two round trips: a submit that did not wait would have arrived.
      for (const count of [1, 2]) await fetch(`${simulator.origin}/sim-pictures/${count}`);
      seen.push([simulator.uploads, simulator.submits.length]);
    };
    await submit({ input: row.input(large), beforePaid });
    expect([seen, simulator.submits.length]).toEqual([[[row.uploads, 0]], 1]);
  });

  it("R1 pays nothing when the last check throws", async () => {
    const { simulator } = tested;
    const beforePaid = () => Promise.reject(new ProviderError("unsent", "taken over"));
    expect(await errorOf(submit({ input: row.input(large), beforePaid }))).toEqual(["unsent", null]);
    expect([simulator.uploads, simulator.submits.length, simulator.runs.size]).toEqual([row.uploads, 0, 0]);
  });

  it("stops a submit at its signal: one that has gone out is lost, one that has not is unsent", async () => {
    const { simulator } = tested;
    const stopped = new AbortController();
    simulator.fault = "mute";
    expect(await errorAfter(stopped, () => submit({}, stopped.signal))).toEqual(["lost", null]);
    await vi.waitFor(() => expect(simulator.left).toBe(1));
    expect(await errorOf(submit({}, stopped.signal))).toEqual(["unsent", null]);
    expect(simulator.calls).toHaveLength(1);
  });
});

const withRuns = providerNames.filter((name) => expectedClients[name].result === "asked for");
const direct = providerNames.filter((name) => expectedClients[name].result === "in the answer");

describe.each(withRuns)("A run at %s", (name) => {
  const row = expectedClients[name];
  beforeEach(() => open(name));

  it.each(names(row.refusals))("E4 names the refusal %s of a get, and asks once", async (fault) => {
    const { get } = await accepted();
    tested.simulator.getFault = fault;
    expect(await errorOf(get())).toEqual(row.refusals[fault]);
    expect(tested.simulator.calls).toHaveLength(1);
  });

  it.each(names(breakdowns))("R6 loses no run by a get after %s, and asks once", async (fault) => {
    const { get } = await accepted();
    tested.simulator.getFault = fault;
    const { limit, own } = holdLimits();
    const call = () => own(get);
    const error = await (isSilent(fault) ? errorAfter(limit, call) : errorOf(call()));
    expect(error).toEqual([breakdowns[fault].get, null]);
    expect(tested.simulator.calls).toHaveLength(1);
  });

  it("stops a get at its signal", async () => {
    const { get } = await accepted();
    const stopped = new AbortController();
    tested.simulator.getFault = "hang";
    expect(await errorAfter(stopped, () => get(stopped.signal))).toEqual(["transient", null]);
    await vi.waitFor(() => expect(tested.simulator.left).toBe(1));
  });
});

const cancelled = providerNames.flatMap((name) => {
  const { cancel } = expectedClients[name];
  return cancel === "unsupported" ? [] : [[name, cancel] as const];
});

describe.each(cancelled)("A cancel at %s", (name, answers) => {
  beforeEach(() => open(name));

  it.each(cancelStates.map((state) => [state, answers[state]] as const))(
    "answers the cancel of a run that is %s with %s",
    async (state, answer) => {
      const { run, cancel } = await accepted();
      run.state = state;
      expect(await cancel()).toBe(answer);
      expect(tested.simulator.calls).toHaveLength(1);
    },
  );

  it("shows a run that was cancelled as cancelled", async () => {
    const { run, get, cancel } = await accepted();
    await cancel();
    expect([run.state, (await get()).state]).toEqual(["cancelled", "cancelled"]);
  });

  it.each([
    ["refuse", "transient"],
    ["drop", "transient"],
    ["auth", "auth"],
  ] as const)("does not take a cancel for done after %s, and asks once", async (fault, errorClass) => {
    const { cancel } = await accepted();
    tested.simulator.getFault = fault;
    expect(await errorOf(cancel())).toEqual([errorClass, null]);
    expect(tested.simulator.calls).toHaveLength(1);
  });
});

const unheld = { endpoint: "any", externalId: "run-1", urls: {} };

describe.each(direct)("%s, whose result is in the answer", (name) => {
  beforeEach(() => open(name));

  it("has no runs to ask for, and is sent nothing", async () => {
    const { access, client, simulator } = tested;
    expect(await errorOf(client.get(access, unheld, endless))).toEqual(["lost", null]);
    expect(simulator.calls).toEqual([]);
  });
});

const uncancelled = providerNames.filter((name) => expectedClients[name].cancel === "unsupported");

describe.each(uncancelled)("%s, which stops no run", (name) => {
  beforeEach(() => open(name));

  it("is sent no cancel", async () => {
    const { access, client, simulator } = tested;
    expect(await client.cancel(access, unheld, endless)).toBe("unsupported");
    expect(simulator.calls).toEqual([]);
  });
});
