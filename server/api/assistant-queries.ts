import { requireRight } from "../accounts/index.ts";
import {
  type AcceptedQuestion,
  ask,
  askSchema,
  isEnded,
  mayQuestionsCost,
  readClientQuestion,
} from "../assistant/index.ts";
import { AppError } from "../platform/index.ts";
import { problemResponse } from "./http/route.ts";
import { readFields } from "./clients/job-server.ts";
import {
  actFor,
  type ClientApi,
  type ClientInput,
  type ClientRoute,
  parseUserName,
} from "./clients/route.ts";

/** POST /api/query */
const queryRoute: ClientRoute = {
  method: "post",
  path: "/query",
  operationId: "clientQuery",
  async handle(input) {
    const { runId } = await accept(input);
    return Response.json({ request_id: runId, status: "processing" }, { status: 202 });
  },
};

async function accept({ services, caller, request }: ClientInput): Promise<AcceptedQuestion> {
  if (mayQuestionsCost(services)) requireRight(caller, "spend");
  const fields = await readFields(request);
  const { query, conversation_id: conversationId, user_id: userName } = fields;
  const question = askSchema.safeParse({
    text: query,
    ...(conversationId === undefined || conversationId === null ? {} : { conversationId }),
  });
  if (!question.success)
    throw new AppError(
      "bad_request",
      "query is required: a text of at most 8,000 characters; conversation_id is an id.",
    );
  const owner = userName === undefined ? caller : await actFor(services, caller, parseUserName(userName));
  return ask(services, { ...question.data, ownerId: owner.userId, apiKeyId: caller.keyId });
}

/** GET /api/query/:id/status */
const statusRoute: ClientRoute = {
  method: "get",
  path: "/query/:id/status",
  operationId: "clientQueryStatus",
  async handle({ services, caller, params }) {
    const run = await readClientQuestion(services, caller, params["id"] ?? "");
    const headers = { "cache-control": "no-store" };
    if (!isEnded(run.status)) return Response.json({ status: "processing" }, { headers });
    const answer =
      run.status === "completed"
        ? { status: "completed", answer: run.answer }
        : { status: "failed", error: run.error?.message ?? "" };
    return Response.json(answer, { headers });
  },
};

/** Questions to the assistant by polling, as clients of a server with such a pipeline ask them. */
export const queryApi: ClientApi = {
  routes: [queryRoute, statusRoute],
  isSwitched: false,
  errorResponse: problemResponse,
};
