import { failureOf, json, type Scripted, startScripted } from "@atelier/testing/providers";
import { afterEach, describe, expect, it } from "vitest";

let provider: Scripted;

afterEach(() => provider.close());

/** The class of a submit of `prompt` that is answered so. */
async function classOf(client: "openai" | "kie" | "fal", answer: Scripted["answer"], prompt = "a red door") {
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
    ["a limit of tokens", sentence("The token budget is exceeded"), "input"],
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
    ["a gateway's budget", sentence("Budget has been exceeded! Current cost: 76.16, Max budget: 10.0")],
    ["its code, as too many calls", json({ error: { type: "budget_exceeded", message: "no" } }, 429)],
    ["one of a team", sentence("ExceededBudget: End User=one over budget. Spend=0.2, Budget=0.1")],
    ["one before words of the content", sentence("Insufficient funds. Violates our terms", 403)],
    ["one beside them", sentence("Out of credits: further calls are prohibited, and violate our terms")],
    ["one with a word of caution", sentence("Your balance is insufficient. Keys are sensitive data.", 422)],
    ["a code of a balance", json({ code: "NOT_ENOUGH_BALANCE", message: "Denied" }, 403)],
  ] as const)("is told in the provider's words: %s", async (_, answer) => {
    expect(await classOf("openai", answer, long)).toBe("credit");
  });

  const blocked =
    "Your resource has been temporarily blocked because we detected behavior that may violate our content policy.";
  const terminated = "Your access was terminated due to violation of our policies, please check your email.";

  it.each([
    ["Azure's block of a resource", json({ error: { code: "Forbidden", message: blocked } }, 403)],
    [
      "the same inside of a gateway's refusal of content",
      json(
        {
          error: {
            code: "content_policy_violation",
            message: `Flagged. ${JSON.stringify({ error: { message: blocked } })}`,
          },
        },
        400,
      ),
    ],
    ["an account that OpenAI has shut, as too many calls", sentence(terminated, 429)],
    ["its code", json({ error: { type: "access_terminated", code: null, message: "no" } }, 429)],
    ["a locked user", json({ detail: "User is locked. Reason: Admin lock." }, 400)],
    ["a suspended project", sentence("Consumer project 1234 has been suspended for abuse of safety rules.")],
    ["a flagged organization", sentence("This organization has been flagged by our moderation.", 422)],
  ] as const)("is no refusal of this content where the account is shut: %s", async (_, answer) => {
    expect(await classOf("openai", answer, long)).toBe("auth");
  });

  it.each([
    [
      "moderation",
      sentence("Flagged by our safety system. Further violations may get your account suspended."),
    ],
    ["moderation", sentence("Access to this content is restricted by our content policy.")],
    ["moderation", sentence("The user prompt was flagged by our safety system.")],
    ["moderation", sentence("User content is blocked by the content filter.")],
    ["moderation", sentence("The user's input was flagged by our content policy.")],
    ["moderation", sentence("user images have been restricted by our safety system")],
    ["moderation", sentence("The resource file was blocked by the content filter.")],
    [
      "moderation",
      json({ error: { code: "content_policy_violation", message: "The user input is blocked." } }, 400),
    ],
    ["moderation", sentence("The prompt 'my account has been suspended' is prohibited.")],
    [
      "credit",
      sentence("Account one is suspended, possibly due to reaching the monthly spending limit.", 412),
    ],
    ["lost", sentence(blocked, 504)],
  ] as const)("is %s where the account is spoken of otherwise: %j", async (errorClass, answer) => {
    expect(await classOf("openai", answer, long)).toBe(errorClass);
  });

  it("is told apart at Kie and fal as well", async () => {
    expect(await classOf("kie", json({ code: 433, msg: blocked, data: null }))).toBe("auth");
    await provider.close();
    const locked = json({ detail: "User is locked. Reason: Admin lock. Please contact support." }, 403);
    expect(await classOf("fal", locked)).toBe("auth");
    await provider.close();
    const spent = json({ detail: "User is locked. Reason: Exhausted balance. Top up your balance." }, 403);
    expect(await classOf("fal", spent)).toBe("credit");
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

describe("A key that is refused with the status of a wrong request", () => {
  it.each([
    ["openai", json({ code: "invalid argument", error: "Incorrect API key provided: sk-1" }, 400)],
    ["openai", json({ error: { message: "The API key doesn't exist or is invalid." } }, 400)],
    ["openai", json([{ error: { code: 400, message: "API key not valid. Please pass a valid one." } }], 400)],
    ["openai", json({ error: { message: "no", status: "PERMISSION_DENIED: SERVICE_DISABLED" } }, 403)],
    ["openai", sentence("You have insufficient permissions for this operation. Missing scopes: images", 422)],
    ["openai", sentence("Country, region, or territory not supported", 400)],
    ["openai", sentence("Your API key was reported as leaked. Please use another API key.", 404)],
    ["kie", json({ code: 422, msg: "Invalid API key", data: null })],
    ["fal", json({ detail: "The API key is missing" }, 422)],
  ] as const)("is told in the words of %s: %j", async (client, answer) => {
    expect(await classOf(client, answer)).toBe("auth");
  });

  it.each([
    [
      "moderation",
      sentence("Flagged by our content policy: the picture shows an API key that is not valid."),
    ],
    ["moderation", sentence("The text is prohibited, as it holds a leaked API key.")],
    ["input", sentence("Too long: a poster of an invalid API key")],
    ["input", sentence("Too long: a  poster of an invalid api KEY")],
    ["input", sentence("Could not download image_url: server answered 403 unauthenticated")],
    ["auth", sentence("Invalid API key: the picture file was not read")],
    ["auth", sentence("Cannot load image model: the API key is invalid")],
    ["input", sentence('Cannot read "PERMISSION_DENIED, API key invalid"')],
    ["input", sentence("The key colour is invalid for this api")],
  ] as const)("is %s where a content or a field is refused: %j", async (errorClass, answer) => {
    expect(await classOf("openai", answer, "a poster of an invalid API key")).toBe(errorClass);
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

  it.each([
    ["as they are", (text: string) => text],
    ["in JSON", (text: string) => JSON.stringify(text).slice(1, -1)],
    ["in JSON twice", (text: string) => JSON.stringify(JSON.stringify(text)).slice(3, -3)],
    ["in Python", (text: string) => text.replaceAll("\n", String.raw`\n`).replaceAll("'", String.raw`\'`)],
    ["in ASCII", (text: string) => text.replaceAll("é", String.raw`\u00e9`).replaceAll("\n", String.raw`\n`)],
    ["on one line", (text: string) => text.replaceAll(/\s+/g, " ")],
    ["in capitals", (text: string) => text.toUpperCase()],
  ])("decide nothing %s", async (_, write) => {
    const prompt = 'The café\'s "notes"\n\nof Monday\tsaid: Invalid API key provided';
    expect(await classOf("openai", sentence(`Cannot draw: ${write(prompt)}`), prompt)).toBe("input");
    await provider.close();
    const both = sentence(`Cannot draw: ${write(prompt)}. Invalid API key provided`);
    expect(await classOf("openai", both, prompt)).toBe("auth");
  });

  it("decide nothing at Kie", async () => {
    const answer = json({ code: 422, msg: "Too short: safety", data: null });
    expect(await classOf("kie", answer, "safety")).toBe("input");
  });
});
