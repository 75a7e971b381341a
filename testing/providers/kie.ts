import { refusalText, type SimAnswer, type Simulator, type SimRun, type Vendor } from "./port.ts";
import { isPost, runOf, uploaded } from "./requests.ts";
import { kieHeaders } from "./signatures.ts";

const kieStatus = {
  queued: "waiting",
  running: "generating",
  succeeded: "success",
  failed: "fail",
  moderated: "fail",
  flagged: "success",
  refused: "success",
  cancelled: "fail",
} as const;

function kieBody(simulator: Simulator, run: SimRun) {
  const results = {
    succeeded: { resultUrls: [simulator.pictureText(run)] },
    flagged: { resultUrls: [simulator.pictureText(run)], nsfw: true },
    refused: { resultUrls: [], text: refusalText },
  } as const;
  const { state } = run;
  const resultJson = state in results ? JSON.stringify(results[state as keyof typeof results]) : "";
  const failMsg = run.state === "moderated" ? "The content is sensitive" : "It did not work";
  return {
    code: 200,
    msg: "success",
    data: { taskId: run.id, state: kieStatus[run.state], resultJson, failMsg },
  };
}

/** An account may start this many tasks in this time; those above are refused and not queued. */
const window = { tasks: 20, ms: 10_000 };

function isOverLimit({ runs }: Simulator): boolean {
  const startMs = Date.now() - window.ms;
  return [...runs.values()].filter(({ createdAt }) => createdAt.getTime() > startMs).length >= window.tasks;
}

/** The HTTP status says nothing. */
function refused(code: number, msg: string): SimAnswer {
  return { status: 200, json: { code, msg, data: null } };
}

export const kie: Vendor = {
  name: "kie",
  isSubmit: (request) => isPost(request, /createTask$/),
  handle(simulator, request) {
    const { json } = request;
    if (this.isSubmit(request)) {
      if (isOverLimit(simulator)) return refused(429, "Too many requests");
      const webhookUrl = typeof json["callBackUrl"] === "string" ? json["callBackUrl"] : null;
      const run = simulator.start({ endpoint: String(json["model"]), input: json["input"], webhookUrl });
      return { status: 200, json: { code: 200, msg: "success", data: { taskId: run.id } } };
    }
    if (isPost(request, /file-base64-upload$/) && simulator.uploadFault === "blocked")
      return { status: 403, headers: { "content-type": "text/html", server: "cloudflare" } };
    if (isPost(request, /file-base64-upload$/))
      return uploaded(simulator, {
        status: 200,
        json: { code: 200, data: { downloadUrl: `${simulator.origin}/sim-pictures/up.png` } },
      });
    const run = runOf(simulator, request.url.searchParams.get("taskId") ?? "");
    return { status: 200, json: run ? kieBody(simulator, run) : { code: 404, msg: "no such task" } };
  },
  refusal(fault) {
    const codes = { rate: 429, auth: 401, credit: 402, input: 422, quota: null, busy: null } as const;
    const code = codes[fault];
    return code === null ? null : refused(code, fault);
  },
  webhooks: (simulator, run) => [
    { body: JSON.stringify(kieBody(simulator, run)), headers: kieHeaders(run.id) },
  ],
};
