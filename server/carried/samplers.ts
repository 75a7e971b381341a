/** Samplers as ComfyUI calls them, with the name that A1111 writes. */
const samplers: readonly (readonly [comfyui: string, a1111: string])[] = [
  ["euler", "Euler"],
  ["euler_ancestral", "Euler a"],
  ["euler_cfg_pp", "Euler CFG++"],
  ["euler_ancestral_cfg_pp", "Euler a CFG++"],
  ["heun", "Heun"],
  ["dpm_2", "DPM2"],
  ["dpm_2_ancestral", "DPM2 a"],
  ["lms", "LMS"],
  ["dpm_fast", "DPM fast"],
  ["dpm_adaptive", "DPM adaptive"],
  ["dpmpp_2s_ancestral", "DPM++ 2S a"],
  ["dpmpp_sde", "DPM++ SDE"],
  ["dpmpp_2m", "DPM++ 2M"],
  ["dpmpp_2m_cfg_pp", "DPM++ 2M CFG++"],
  ["dpmpp_2m_sde", "DPM++ 2M SDE"],
  ["dpmpp_2m_sde_heun", "DPM++ 2M SDE Heun"],
  ["dpmpp_3m_sde", "DPM++ 3M SDE"],
  ["ddim", "DDIM"],
  ["ddpm", "DDPM"],
  ["lcm", "LCM"],
  ["uni_pc", "UniPC"],
  ["ipndm", "IPNDM"],
  ["deis", "DEIS"],
  ["res_multistep", "Res Multistep"],
];

const schedulers: typeof samplers = [
  ["normal", "Uniform"],
  ["karras", "Karras"],
  ["exponential", "Exponential"],
  ["sgm_uniform", "SGM Uniform"],
  ["simple", "Simple"],
  ["ddim_uniform", "DDIM"],
  ["beta", "Beta"],
  ["kl_optimal", "KL Optimal"],
  ["linear_quadratic", "Linear Quadratic"],
];

/** InvokeAI's names that differ from both, without the `_k` of Karras and the `k_` of its second version. */
const otherNames: Readonly<Record<string, string>> = {
  euler_a: "euler_ancestral",
  kdpm_2: "dpm_2",
  kdpm_2_a: "dpm_2_ancestral",
  dpm_2_a: "dpm_2_ancestral",
  dpmpp_2_a: "dpmpp_2s_ancestral",
  dpmpp_2: "dpmpp_2m",
  unipc: "uni_pc",
};

/** `DPM++ 2M` as `dpmpp2m`: programs differ in capitals and in the marks between words. */
const fold = (name: string) =>
  name
    .toLowerCase()
    .replaceAll("++", "pp")
    .replaceAll(/[^a-z0-9]/g, "");

const byName = (table: typeof samplers) =>
  new Map(table.flatMap(([comfyui, a1111]) => [comfyui, a1111].map((name) => [fold(name), comfyui])));

const samplerOf = new Map([
  ...byName(samplers),
  ...Object.entries(otherNames).map(([name, comfyui]) => [fold(name), comfyui] as const),
]);
const schedulerOf = new Map([...byName(schedulers), [fold("Normal"), "normal"]]);

const undecided = /^(?:|automatic|workflow|default|none|use same \w+)$/i;

export interface Sampling {
  readonly sampler: string | null;
  readonly scheduler: string | null;
}

const orNull = (name: string | null) =>
  name === null || undecided.test(name.trim()) ? null : name.trim().slice(0, 100);

const meant = (table: ReadonlyMap<string, string>, name: string | null) =>
  name === null ? null : (table.get(fold(name)) ?? name);

/** Older programs have the scheduler in the sampler's name: `DPM++ 2M Karras`, `dpmpp_2m_k`. */
function parted(named: string): readonly [sampler: string, scheduler: string | null] {
  if (samplerOf.has(fold(named))) return [named, null];
  const [, own = named, last = null] = /^(.+?)[ _](karras|exponential|k)$/i.exec(named) ?? [];
  return [own.replace(/^k_/i, ""), last?.replace(/^k$/i, "karras") ?? null];
}

/** Sampler and scheduler as ComfyUI calls them, of the names that a program has for them; what is in no table stays as it is. */
export function samplingOf(sampler: string | null, scheduler: string | null = null): Sampling {
  const named = orNull(sampler);
  const [own, joined] = named === null ? [null, null] : parted(named);
  return {
    sampler: meant(samplerOf, own),
    scheduler: meant(schedulerOf, orNull(scheduler) ?? joined),
  };
}

/** As A1111 writes them; what it has no name for stays as it is. */
export const a1111Sampler = (name: string): string =>
  samplers.find(([comfyui]) => comfyui === name)?.[1] ?? name;
export const a1111Scheduler = (name: string): string =>
  schedulers.find(([comfyui]) => comfyui === name)?.[1] ?? name;

/** The one of a server's list that a name means, however it is written; null where it has none. */
export const listedAs = (name: string, listed: readonly string[]): string | null =>
  listed.find((one) => one === name) ?? listed.find((one) => fold(one) === fold(name)) ?? null;
