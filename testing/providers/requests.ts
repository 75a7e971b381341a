import type { SimAnswer, Simulator, SimRequest } from "./port.ts";

export const notFound: SimAnswer = {
  status: 404,
  json: { detail: "Not found.", error: "NotFound", message: "Not found" },
};
export const runOf = (simulator: Simulator, id: string | undefined) => simulator.runs.get(id ?? "");
export const isPost = (request: SimRequest, path: RegExp) =>
  request.method === "POST" && path.test(request.url.pathname);

/** The answer to an upload, which is noted and may be held. */
export async function uploaded(simulator: Simulator, answer: SimAnswer): Promise<SimAnswer> {
  const held = simulator.heldUpload;
  simulator.heldUpload = null;
  simulator.uploads += 1;
  await held;
  return answer;
}
