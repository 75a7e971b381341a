import type { Simulator, SimRun, Vendor } from "./port.ts";
import { isPost, runOf, uploaded } from "./requests.ts";
import { kieHeaders } from "./signatures.ts";

const kieStatus = {
  queued: "waiting",
  running: "generating",
  succeeded: "success",
  failed: "fail",
  moderated: "fail",
  cancelled: "fail",
} as const;

function kieBody(simulator: Simulator, run: SimRun) {
  const resultJson =
    run.state === "succeeded" ? JSON.stringify({ resultUrls: [simulator.pictureUrl(run)] }) : "";
  const failMsg = run.state === "moderated" ? "The content is sensitive" : "It did not work";
  return {
    code: 200,
    msg: "success",
    data: { taskId: run.id, state: kieStatus[run.state], resultJson, failMsg },
  };
}

export const kie: Vendor = {
  name: "kie",
  isSubmit: (request) => isPost(request, /createTask$/),
  handle(simulator, request) {
    const { json } = request;
    if (this.isSubmit(request)) {
      const webhookUrl = typeof json["callBackUrl"] === "string" ? json["callBackUrl"] : null;
      const run = simulator.start({ endpoint: String(json["model"]), input: json["input"], webhookUrl });
      return { status: 200, json: { code: 200, msg: "success", data: { taskId: run.id } } };
    }
    if (isPost(request, /file-base64-upload$/))
      return uploaded(simulator, {
        status: 200,
        json: { code: 200, data: { downloadUrl: `${simulator.origin}/sim-pictures/up.png` } },
      });
    const run = runOf(simulator, request.url.searchParams.get("taskId") ?? "");
    return { status: 200, json: run ? kieBody(simulator, run) : { code: 404, msg: "no such task" } };
  },
  refusal(fault) {
    const codes = { rate: 429, auth: 401, credit: 402, busy: 455 } as const;
    return { status: 200, json: { code: codes[fault], msg: fault }, headers: { "retry-after": "10" } };
  },
  webhook(simulator, run) {
    return { body: JSON.stringify(kieBody(simulator, run)), headers: kieHeaders(run.id) };
  },
};
