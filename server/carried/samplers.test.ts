import { expect, test } from "vitest";
import { a1111Sampler, a1111Scheduler, listedAs, samplingOf } from "./samplers.ts";

test.each([
  ["Euler a", null, "euler_ancestral", null],
  ["Euler", "Automatic", "euler", null],
  ["DPM++ 2M", "Karras", "dpmpp_2m", "karras"],
  ["DPM++ 2M Karras", null, "dpmpp_2m", "karras"],
  ["DPM++ 2M SDE Exponential", null, "dpmpp_2m_sde", "exponential"],
  ["DPM++ 2M Karras", "SGM Uniform", "dpmpp_2m", "sgm_uniform"],
  ["DPM++ 2S a Karras", "", "dpmpp_2s_ancestral", "karras"],
  ["DPM2 a", "Uniform", "dpm_2_ancestral", "normal"],
  ["UniPC", "KL Optimal", "uni_pc", "kl_optimal"],
  ["Restart", null, "Restart", null],
  ["Align", "Align Your Steps", "Align", "Align Your Steps"],
  ["dpmpp_2m_k", null, "dpmpp_2m", "karras"],
  ["euler_a", null, "euler_ancestral", null],
  ["kdpm_2_a_k", null, "dpm_2_ancestral", "karras"],
  ["k_lms", null, "lms", null],
  ["k_euler_a", null, "euler_ancestral", null],
  ["unipc", null, "uni_pc", null],
  ["dpmpp_2m_sde", "karras", "dpmpp_2m_sde", "karras"],
  ["of_an_extension", "beta57", "of_an_extension", "beta57"],
  ["Automatic", "automatic", null, null],
  [null, null, null, null],
])(
  "the sampler %j with the scheduler %j of a program is %j with %j here",
  (sampler, scheduler, own, ownScheduler) => {
    expect(samplingOf(sampler, scheduler)).toEqual({ sampler: own, scheduler: ownScheduler });
  },
);

test("what is written for A1111 is read as the same again", () => {
  for (const name of ["euler", "dpmpp_2s_ancestral", "dpmpp_2m_sde", "uni_pc", "seeds_3"])
    expect(samplingOf(a1111Sampler(name)).sampler).toBe(name);
  for (const name of ["normal", "karras", "ddim_uniform", "beta", "of_an_extension"])
    expect(samplingOf(null, a1111Scheduler(name)).scheduler).toBe(name);
  expect([a1111Sampler("dpmpp_2m"), a1111Scheduler("karras")]).toEqual(["DPM++ 2M", "Karras"]);
});

test("a name means the one of a server's list that is written alike", () => {
  expect(listedAs("Seeds 3", ["seeds_2", "seeds_3"])).toBe("seeds_3");
  expect(listedAs("dpmpp_2m", ["DPMPP-2M", "dpmpp_2m"])).toBe("dpmpp_2m");
  expect(listedAs("Restart", ["euler"])).toBeNull();
});
