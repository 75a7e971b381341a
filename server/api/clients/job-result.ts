import {
  finishResult,
  noteAnswer,
  type HeldResult,
  openResult,
  releaseResult,
  renewResult,
  type ResultState,
  holdResult,
} from "../../jobs/index.ts";
import { AppError, isAppError } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import type { ClientInput, ClientRoute } from "./route.ts";
import { base64Length, base64Of, sendJson } from "./send.ts";

/** GET /jobResult?jobId= */
export const jobResultRoute: ClientRoute = {
  method: "get",
  path: "/jobResult",
  operationId: "clientJobResult",
  async handle(input) {
    const { services, caller, query } = input;
    const id = query["jobId"] ?? query["job_id"];
    if (!id) throw new AppError("bad_request", "jobId is required.");
    return answerFor(input, await holdResult(services, caller, id));
  },
};

function answerFor(input: ClientInput, state: ResultState): Response | Promise<Response> {
  const { services } = input;
  switch (state.type) {
    case "working":
      return stillWorking(state.status === "processing" ? "processing" : "pending");
    case "held":
      return stillWorking("processing");
    case "failed":
      return sendOnce(services, state.jobId, {
        status: 200,
        body: { status: "failed", error: state.message },
      });
    case "inconsistent":
      return sendOnce(services, state.jobId, {
        status: 500,
        body: { status: "error", error: "The job is completed and has no picture." },
      });
    case "other":
      return Response.json({ status: state.status }, { headers: { "cache-control": "no-store" } });
    case "ready":
      return sendResult(input, state.result);
  }
}

function stillWorking(status: "pending" | "processing"): Response {
  const body = { status, message: "The job is still being worked on." };
  return Response.json(body, { status: 202, headers: { "cache-control": "no-store" } });
}

interface Report {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The end of a job without a result: the time of the job begins to run out when the answer was taken. */
function sendOnce(services: Services, jobId: string, { status, body }: Report): Response {
  const text = JSON.stringify(body);
  return sendJson(services, [text], {
    status,
    headers: { "content-length": String(Buffer.byteLength(text)) },
    onServed: () => noteAnswer(services, jobId),
  });
}

async function sendResult({ services, request }: ClientInput, result: HeldResult): Promise<Response> {
  const { imageId: id, ownerId } = result;
  try {
    const opened = await openResult(services, { id, ownerId, isHead: request.method === "HEAD" });
    const { "content-type": type = "", "content-length": length = "0" } = opened.headers;
    const head = `{"status":"completed","image_type":${JSON.stringify(type)},"image_data_base64":"`;
    const tail = `"}`;
    const sizeBytes = head.length + base64Length(Number(length)) + tail.length;
    return sendJson(services, resultPieces(services, result, { head, body: opened.body ?? [], tail }), {
      headers: { "content-length": String(sizeBytes) },
      onServed: () => finishResult(services, result),
      async onLeft() {
        opened.body?.destroy();
        await releaseResult(services, result);
      },
    });
  } catch (error) {
    if (!isAppError(error) || (error.code !== "file_missing" && error.code !== "not_found")) {
      await releaseResult(services, result);
      throw error;
    }
    // The file never comes back.
    return sendOnce(services, result.jobId, {
      status: 404,
      body: { status: "error", error: "The file of the result is gone." },
    });
  }
}

const renewMs = 30_000;

interface ResultParts {
  readonly head: string;
  readonly body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  readonly tail: string;
}

async function* resultPieces(services: Services, result: HeldResult, parts: ResultParts) {
  yield parts.head;
  // A slow reader whose hold has passed to another one is broken off, so that one alone gets the whole result.
  const renew = async () => {
    if (!(await renewResult(services, result))) throw new AppError("conflict");
  };
  let renewAtMs = performance.now() + renewMs;
  for await (const piece of base64Of(parts.body)) {
    if (performance.now() >= renewAtMs) {
      await renew();
      renewAtMs = performance.now() + renewMs;
    }
    yield piece;
  }
  await renew();
  yield parts.tail;
}
