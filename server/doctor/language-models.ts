import { findStageModel, findVectorModel, hostOf, keyNames, visionModel } from "../assistant/index.ts";
import { textModel } from "../meaning/index.ts";
import { isWhole } from "../models/index.ts";
import { type Env, explain, modelsAddress } from "../platform/index.ts";
import { type CheckResult, failed, passed, untried } from "./checks.ts";
import { checkLocal, keyOf, nameOf, pictures, type Round, type Served, vectors } from "./home-models.ts";
import { ask, isPage } from "./other-side.ts";
import { saidNo } from "./outside.ts";

const stages = ["analyzer", "responder", "archivist"] as const;

/** One line for each language model, and one for each thing that it lacks. */
export async function checkModels(round: Round): Promise<CheckResult[]> {
  const found = [
    ...stages.map((stage) => ({ stage: stage as string, model: findStageModel(round, stage) })),
    ...vectorStage(round),
    ...visionStage(round),
  ];
  const problems = new Set(found.flatMap(({ model }) => ("problem" in model ? [model.problem] : [])));
  const models = new Map<string, Served>();
  for (const { stage, model } of found) {
    if ("problem" in model) continue;
    const { inputUsd, isKnown } = model.price;
    const before = models.get(model.id)?.stages ?? [];
    models.set(model.id, { id: model.id, isFree: isKnown && inputUsd === 0, stages: [...before, stage] });
  }
  const unusable = [...problems].map((problem) =>
    untried("Language models", `${problem} Rules answer instead.`),
  );
  const results = await Promise.all([...models.values()].map((model) => checkModel(round, model)));
  return [...unusable, ...results.flat()];
}

function vectorStage(round: Round) {
  const model = findVectorModel(round);
  return model === null ? [] : [{ stage: vectors, model }];
}

function visionStage(round: Round) {
  const model = visionModel(round);
  return model === null ? [] : [{ stage: pictures, model }];
}

async function checkModel(round: Round, model: Served): Promise<CheckResult[]> {
  const name = `Language model ${model.id} (${model.stages.join(", ")})`;
  if (hostOf(model.id) === "onboard") return checkOnboard(round.env, name);
  try {
    return await (hostOf(model.id) === "local"
      ? checkLocal(round, name, model)
      : checkVendor(round, name, model));
  } catch (error) {
    const where =
      hostOf(model.id) === "local"
        ? "start its server, or correct LLM_BASE_URL"
        : "look at the network and HTTPS_PROXY";
    return [{ ...failed(name, `gives no answer; ${where}`), noAnswer: explain(error) }];
  }
}

const vendors =
  /^https:\/\/(?:api\.anthropic\.com|api\.openai\.com|generativelanguage\.googleapis\.com)(?=\/|$)/;

/** Where the models of a vendor are called, which may be a gateway; as other programs write it, without the version, too. */
function baseOf(address: string): string {
  const base = address.replace(/\/+$/, "");
  return base === "https://api.anthropic.com" ? `${base}/v1` : base;
}

/** The list of models: a call that costs nothing and needs the key, at the address that gets it with each question. */
function listOf(env: Env, id: string) {
  const name = encodeURIComponent(nameOf(id));
  switch (hostOf(id)) {
    case "anthropic": {
      const headers = { "x-api-key": env.ANTHROPIC_API_KEY ?? "", "anthropic-version": "2023-06-01" };
      return { url: `${baseOf(env.ANTHROPIC_BASE_URL)}/models/${name}`, headers };
    }
    case "google": {
      const headers = { "x-goog-api-key": env.GOOGLE_GENERATIVE_AI_API_KEY ?? "" };
      return { url: `https://generativelanguage.googleapis.com/v1beta/models/${name}`, headers };
    }
    case "openai":
      return {
        url: `${baseOf(env.OPENAI_BASE_URL)}/models/${name}`,
        headers: { authorization: `Bearer ${env.OPENAI_API_KEY}` },
      };
    case "local":
    case "onboard":
      return { url: modelsAddress(env.LLM_BASE_URL ?? ""), headers: keyOf(env) };
  }
}

/** The addresses that the paid models are called at. */
export function vendorAddresses({ env, config }: Pick<Round, "env" | "config">): string[] {
  return stages.flatMap((stage) => {
    const model = findStageModel({ env, config }, stage);
    if ("problem" in model || hostOf(model.id) === "local") return [];
    const { url } = listOf(env, model.id);
    return URL.canParse(url) ? [url] : [];
  });
}

async function checkOnboard(env: Env, name: string): Promise<CheckResult[]> {
  return [
    (await isWhole(env, textModel))
      ? passed(name, `is on this computer, needs no key and costs nothing (${textModel.licence})`)
      : failed(name, "is damaged; add it again: atelier models add text-model FILE"),
  ];
}

async function checkVendor({ env, clocks }: Round, name: string, { id }: Served): Promise<CheckResult[]> {
  const { url, headers } = listOf(env, id);
  const answer = await ask(url, { headers }, clocks);
  if (answer.status === 200 && !isPage(answer))
    return [passed(name, "takes the key and has the model; nothing was asked of it, as that costs money")];
  if (answer.status === 404) {
    const absent = saidNo(
      name,
      answer,
      `the key is taken, but no such model; see docs/assistant.md for the names`,
    );
    // A gateway may hand on questions and list nothing.
    return [vendors.test(url) ? absent : { ...absent, isOk: true, isWarning: true }];
  }
  return [saidNo(name, answer, `correct ${keyNames[hostOf(id)]}`)];
}
