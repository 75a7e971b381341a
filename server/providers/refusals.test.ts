import { failureOf, json, type Scripted, startScripted } from "@atelier/testing/providers";
import { afterEach, describe, expect, it } from "vitest";

let provider: Scripted;

afterEach(() => provider.close());

/** The class of a submit of `prompt` that is answered so. */
async function classOf(client: "openai" | "kie", answer: Scripted["answer"], prompt = "a red door") {
  provider = await startScripted(client, client === "openai" ? "/v1" : undefined);
  provider.answer = answer;
  const [errorClass] = await failureOf(provider.submit({ input: { prompt } }));
  return errorClass;
}

const sentence = (message: string, status = 400) => json({ error: { message } }, status);
const long = "an overdue invoice on a desk, out of credit, in the light of a late afternoon";

describe("An account without money", () => {
  it.each([
    [
      "an input that is repeated beside the sentence",
      json(
        { detail: [{ loc: ["body", "size"], msg: "bad", input: { prompt: "neon, out of credit" } }] },
        422,
      ),
      "input",
    ],
    [
      "a quoted prompt",
      sentence('The prompt "an overdue invoice, nude" was flagged by our content policy'),
      "moderation",
    ],
    [
      "a prompt in single quotes",
      sentence("Content policy violation in: 'man out of credit, nude'", 403),
      "moderation",
    ],
    [
      "a prompt that is quoted in part",
      sentence('Cannot read the prompt "a sign, out of credit and'),
      "input",
    ],
    ["a prompt in other quotes", sentence("Cannot read «a man's sign: out of credit»"), "input"],
    ["a balance of white", sentence("The image has a white balance too low to process"), "input"],
    ["a balance of colours", sentence("The colour balance is insufficient"), "input"],
    ["what is out of balance", sentence("The composition is out of balance"), "input"],
    ["a balance of tones", sentence("Not enough balance between the tonal ranges"), "input"],
    ["a balance that lacks", sentence("Insufficient white balance in the reference"), "input"],
    ["a prompt that nothing quotes", sentence(`Too long: ${long}`), "input"],
    ["its beginning", sentence(`Too long: ${long.slice(0, 50)}...`), "input"],
    ["a page that repeats it", { status: 400, body: `<html>${long}` }, "input"],
    [
      "a gateway that gave up",
      sentence("upstream timed out for prompt 'overdue invoice on a desk'", 504),
      "lost",
    ],
    ["another gateway, without quotes", sentence("timed out: overdue invoice", 524), "lost"],
    ["a server that gave up", sentence("timed out: overdue invoice", 408), "timeout"],
    ["an inner fault", sentence("Insufficient balance to scale up", 500), "transient"],
    [
      "a refused content that speaks of money later",
      sentence("It violates our content policy. With insufficient funds you would read another sentence."),
      "moderation",
    ],
  ] as const)("is not what a user's words or a gateway's are: %s", async (_, answer, errorClass) => {
    expect(await classOf("openai", answer, long)).toBe(errorClass);
  });

  it.each([
    ["a code beside a sentence", json({ error: { code: "INSUFFICIENT_BALANCE", message: "no" } }, 403)],
    ["a code alone", json({ error: "insufficient_credits" }, 403)],
    ["a code in capitals inside", json({ code: "OutOfCredits", message: "Denied" }, 400)],
    ["a code, whatever the status", json({ error: { code: "insufficient_quota", message: "no" } }, 503)],
    ["a sentence", sentence("Your balance is insufficient.", 403)],
    ["a sentence that begins with it", sentence("Denied. Balance is exhausted.")],
    ["a sentence with a quoted name", sentence('Insufficient funds for "model-one"', 412)],
    ["a text", { status: 403, body: "Insufficient balance" }],
    ["an answer inside of a sentence", sentence('Upstream: {"message": "Insufficient balance now"}', 429)],
    ["another one", sentence("Upstream: {'message': 'You have no remaining credits'}")],
    ["one of a relay", sentence(String.raw`relay: {\"error\":{\"message\":\"Insufficient balance\"}}`)],
    ["a quoted sentence of another server", sentence('Upstream error: "Insufficient balance"')],
    ["one with its status", sentence("upstream returned 402: 'Insufficient balance'")],
    ...[
      "Not enough balance to run this model",
      "Your current balance is insufficient",
      "The available balance is too low",
      "Insufficient API balance",
      "Insufficient USD balance, please top up",
      "Account balance not enough",
    ].map((text) => [text, sentence(text)] as const),
    ["one before words of the content", sentence("Insufficient funds. Violates our terms", 403)],
    ["one beside them", sentence("Out of credits: further calls are prohibited, and violate our terms")],
    ["one with a word of caution", sentence("Your balance is insufficient. Keys are sensitive data.", 422)],
    ["a code of a balance", json({ code: "NOT_ENOUGH_BALANCE", message: "Denied" }, 403)],
  ] as const)("is told in the provider's words: %s", async (_, answer) => {
    expect(await classOf("openai", answer, long)).toBe("credit");
  });

  it("is told apart at Kie as well", async () => {
    const said = (msg: string) => json({ code: 422, msg, data: null });
    expect(await classOf("kie", said("Flagged as sensitive: 'a man out of credit'"))).toBe("moderation");
    await provider.close();
    expect(await classOf("kie", said(`Wrong field: ${long}`), long)).toBe("input");
    await provider.close();
    expect(await classOf("kie", said("Your account balance is insufficient"))).toBe("credit");
  });
});

describe("The words of a call that a refusal repeats", () => {
  it.each([
    ["safety", "Unsupported size for prompt: safety", "input"],
    ["nsfw", "Cannot draw 'nsfw'", "input"],
    ["nsfw", "[nsfw] is too short", "input"],
    ["E005", "Wrong value (E005)", "input"],
    ["arrears", "Too short: arrears.", "input"],
    ["a flagged stone", "Too short: a flagged stone", "input"],
    ["unknown model", "Too short: unknown model", "input"],
    ["safety", "The request was rejected by the safety system", "moderation"],
    ["nsfw", "Prompt: nsfw. The request was flagged.", "moderation"],
    ["model", "The model is unknown", "model"],
  ])("decide nothing: %s in %s", async (prompt, message, errorClass) => {
    expect(await classOf("openai", sentence(message), prompt)).toBe(errorClass);
  });

  it("decide nothing at Kie", async () => {
    const answer = json({ code: 422, msg: "Too short: safety", data: null });
    expect(await classOf("kie", answer, "safety")).toBe("input");
  });
});
