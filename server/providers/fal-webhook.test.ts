import { createHash, generateKeyPairSync, sign } from "node:crypto";
import {
  falKeys,
  failureOf,
  json,
  onlyRequest,
  type Scripted,
  startProvider,
  startScripted,
} from "@atelier/testing/providers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { clientOf } from "./clients.ts";

let fal: Scripted;

beforeEach(async () => {
  fal = await startScripted("fal");
});

afterEach(() => fal.close());
afterEach(() => void vi.useRealTimers());

describe("A webhook of fal", () => {
  const id = "764cabcf-b745-4b3e-ae38-1200304cf45b";
  const example = {
    x: "6kpsY-KcUgq-9VB7Ey7F-ZVHdq6-vnuSQh7qaRRG0iw",
    body: `{"request_id":"${id}","gateway_request_id":"${id}","status":"OK","payload":{"images":[]}}`,
    headers: {
      "x-fal-webhook-request-id": id,
      "x-fal-webhook-user-id": "github|1",
      "x-fal-webhook-timestamp": "1795300000",
      "x-fal-webhook-signature":
        "65df09d476eecbafc90375f3233581a211d6bdf63d19ba9a396f6b8ef51a4c7cb3025b0ac73baacebf23ef59336431ae1c34d1b823c9ce76812e0bc3cff6d00e",
    },
  };
  const keySet = (...keys: string[]) => json({ keys: keys.map((x) => ({ kty: "OKP", crv: "Ed25519", x })) });
  const minuteMs = 60_000;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date", "performance"], now: 1_795_300_000_000 });
    fal.answer = keySet("AAAA", example.x);
  });

  /** A body under a signature of the simulator's key, at this moment. */
  function signed(body: string): Record<string, string> {
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const digest = createHash("sha256").update(body).digest("hex");
    const message = Buffer.from(["r-1", "github|1", timestamp, digest].join("\n"));
    return {
      "x-fal-webhook-request-id": "r-1",
      "x-fal-webhook-user-id": "github|1",
      "x-fal-webhook-timestamp": timestamp,
      "x-fal-webhook-signature": sign(null, message, falKeys.current.privateKey).toString("hex"),
    };
  }

  /** What becomes of a webhook that is signed now. */
  function arrive(body = '{"request_id":"r-1"}') {
    return failureOf(fal.webhook(body, signed(body))).then(([errorClass]) => errorClass);
  }
  const ownKey = () => String(falKeys.current.publicKey.export({ format: "jwk" }).x);

  it("verifies as the protocol's example does, with any of the published keys", async () => {
    expect(await fal.webhook(example.body, example.headers)).toEqual({ externalId: id });
    const { path, headers } = onlyRequest(fal);
    expect([path, headers.authorization]).toEqual(["/.well-known/jwks.json", undefined]);
  });

  it("names its run also when it reports an error, or an output that could not be sent", async () => {
    fal.answer = keySet(ownKey());
    for (const more of [
      { status: "ERROR", error: "boom" },
      { status: "OK", payload: null, payload_error: "no" },
    ]) {
      const body = JSON.stringify({ request_id: "r-1", ...more });
      expect(await fal.webhook(body, signed(body))).toEqual({ externalId: "r-1" });
    }
  });

  it.each([
    ["for another body", { body: example.body.replace("OK", "KO") }],
    ["for another run", { headers: { ...example.headers, "x-fal-webhook-request-id": "r-2" } }],
    ["for another user", { headers: { ...example.headers, "x-fal-webhook-user-id": "github|2" } }],
    ["for another time", { headers: { ...example.headers, "x-fal-webhook-timestamp": "1795300001" } }],
    ["that is none", { headers: { ...example.headers, "x-fal-webhook-signature": "zz" } }],
    ["that is missing", { headers: {} }],
  ])("is refused with a signature %s", async (_, change) => {
    const { body, headers } = { ...example, ...change };
    expect(await failureOf(fal.webhook(body, headers))).toEqual(["auth", null]);
  });

  it("S9 is refused when it is signed but names no run", async () => {
    fal.answer = keySet(ownKey());
    expect(await Promise.all(["{}", "null", "<html>"].map((body) => arrive(body)))).toEqual([
      "auth",
      "auth",
      "auth",
    ]);
  });

  it("reads the keys once a day", async () => {
    fal.answer = keySet(ownKey());
    for (const [waitMs, reads] of [
      [0, 1],
      [0, 1],
      [24 * 60 * minuteMs - 1, 1],
      [1, 2],
      [0, 2],
    ] as const) {
      vi.advanceTimersByTime(waitMs);
      expect([await arrive(), fal.requests.length]).toEqual(["none", reads]);
    }
  });

  it("reads the keys again for an unknown signature, at most once in a minute", async () => {
    const { simulator, access } = await startProvider("fal");
    const verify = () => {
      const body = '{"request_id":"r-1"}';
      const request = { rawBody: Buffer.from(body), headers: signed(body) };
      return failureOf(clientOf("fal").verifyWebhook(access, request, new AbortController().signal));
    };
    try {
      expect([await verify(), simulator.calls.length]).toEqual([["none", null], 1]);
      falKeys.current = generateKeyPairSync("ed25519");
      expect([await verify(), simulator.calls.length]).toEqual([["auth", null], 1]);
      vi.advanceTimersByTime(minuteMs + 1);
      expect([await verify(), simulator.calls.length]).toEqual([["none", null], 2]);
      expect([await verify(), simulator.calls.length]).toEqual([["none", null], 2]);
    } finally {
      await simulator.close();
    }
  });

  it.each([
    ["the page of a proxy", { body: "<html>" }],
    ["an error", json({ detail: "away" }, 500)],
    ["a list without keys", json({ keys: [] })],
    ["a cut connection", "reset"],
  ] as const)("keeps the keys that it knows when they cannot be read: %s", async (_, answer) => {
    fal.answer = keySet(ownKey());
    expect(await arrive()).toBe("none");
    vi.advanceTimersByTime(minuteMs + 1);
    fal.answer = answer;
    // Not `auth`: fal sends it again, and then the keys may be there.
    expect(
      await failureOf(
        fal.webhook(example.body, {
          ...example.headers,
          "x-fal-webhook-timestamp": String(Math.floor(Date.now() / 1_000)),
        }),
      ),
    ).toEqual(["transient", null]);
    expect(await arrive()).toBe("none");
  });
});
