import { randomUUID } from "node:crypto";
import { serveAnswers } from "@atelier/testing/http";
import {
  expectedClients,
  type SimulatedProvider,
  startProvider,
  type WebhookCase,
  webhookCases,
  webhookVerdicts,
} from "@atelier/testing/providers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { clientOf } from "./clients.ts";
import { ProviderError, type ProviderName, providerNames, type WebhookRequest } from "./port.ts";

let opened: SimulatedProvider;

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: Date.now() }));

afterEach(async () => {
  vi.useRealTimers();
  await opened.simulator.close();
});

const endless = new AbortController().signal;

interface Reported extends WebhookRequest {
  readonly runId: string;
}

/** A webhook of an ended run as it arrived; of a provider that sends none, what somebody might send. */
async function reported(name: ProviderName): Promise<Reported> {
  const { simulator, access } = opened;
  const arrivals = await serveAnswers(() => ({ status: 204 }));
  const { handle } = await clientOf(name).submit(
    access,
    {
      endpoint: expectedClients[name].endpoint,
      kind: "edit",
      input: expectedClients[name].input(),
      idempotencyKey: randomUUID(),
      webhookUrl: `${arrivals.url}/hook`,
      beforePaid: () => Promise.resolve(),
    },
    endless,
  );
  const count = expectedClients[name].webhook === "sends none" ? 0 : 1;
  await vi.waitFor(() => {
    expect(simulator.charged().length).toBeGreaterThan(0);
    expect(arrivals.requests).toHaveLength(count);
  });
  await arrivals.close();
  const [{ headers, body } = { headers: {}, body: '{"id":"run-1"}' }] = arrivals.requests;
  const single = Object.entries(headers).map(([header, value]) => [header, String(value)]);
  return {
    runId: handle.externalId,
    headers: Object.fromEntries(single),
    rawBody: Buffer.from(body, "latin1"),
  };
}

function unsigned({ headers }: Reported): WebhookRequest["headers"] {
  const isSigning = (header: string) => /^(webhook|x-webhook|x-fal-webhook)-/.test(header);
  return Object.fromEntries(Object.entries(headers).filter(([header]) => !isSigning(header)));
}

/** What arrives in this case, when it does. */
async function arriving(name: ProviderName, which: WebhookCase, webhook: Reported): Promise<Reported> {
  switch (which) {
    case "right":
      return webhook;
    case "stale":
    case "early":
      // Signed in whole seconds, five minutes and a little from now.
      vi.setSystemTime(Date.now() + (which === "stale" ? 301_000 : -330_000));
      return webhook;
    case "unsigned":
    case "unsigned without a secret":
      return { ...webhook, headers: unsigned(webhook) };
    case "forged":
      // A signature that is good for another run.
      return { ...webhook, headers: (await reported(name)).headers };
    case "changed by one byte": {
      // In the address of the result, which a forger would change.
      const text = Buffer.from(webhook.rawBody).toString("latin1");
      return { ...webhook, rawBody: Buffer.from(text.replace("sim-pictures", "sim-picturez"), "latin1") };
    }
  }
}

const taken = ({ runId }: Reported) => ({ externalId: runId });

describe.each(providerNames)("A webhook of %s", (name) => {
  const kind = expectedClients[name].webhook;

  beforeEach(async () => {
    opened = await startProvider(name);
  });

  const verdictOf = (request: WebhookRequest, webhookSecret: string | null) =>
    // In a promise, so that what is thrown at once is caught as well.
    Promise.resolve()
      .then(() => clientOf(name).verifyWebhook({ ...opened.access, webhookSecret }, request, endless))
      .catch((error: unknown) => (error instanceof ProviderError ? error.class : error));

  it.each(webhookCases.map((which) => [which, webhookVerdicts[kind][which]] as const))(
    `F21 S9 (${kind}) that is %s: %s`,
    async (which, verdict) => {
      const webhook = await reported(name);
      const given = await arriving(name, which, webhook);
      const secret = which === "unsigned without a secret" ? null : opened.access.webhookSecret;
      expect(await verdictOf(given, secret)).toEqual(verdict === "taken" ? taken(webhook) : verdict);
    },
  );

  it("S9 is refused when it names no run, or is no JSON", async () => {
    const { headers } = await reported(name);
    const bodies = ["{}", "[]", "null", "<html>"].map((text) => Buffer.from(text));
    const verdicts = bodies.map((rawBody) => verdictOf({ headers, rawBody }, null));
    expect(await Promise.all(verdicts)).toEqual(["auth", "auth", "auth", "auth"]);
  });

  it("F21 that comes five times at once, and once more within its time, names the same run", async () => {
    const webhook = await reported(name);
    const times = [1, 2, 3, 4, 5].map(() => verdictOf(webhook, opened.access.webhookSecret));
    const expected = kind === "sends none" ? "auth" : taken(webhook);
    expect(await Promise.all(times)).toEqual(times.map(() => expected));
    vi.setSystemTime(Date.now() + 270_000);
    expect(await verdictOf(webhook, opened.access.webhookSecret)).toEqual(expected);
  });
});
