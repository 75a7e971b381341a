import { workerAccount } from "@atelier/server/accounts";
import { kindParams, submit } from "@atelier/server/jobs";
import { AppError, issuesOf, lineOfText } from "@atelier/server/platform";
import { z } from "zod";
import type { Answer, Call } from "./call.ts";
import { readJson } from "./read-json.ts";

const bodySchema = kindParams.text_to_image.extend({
  workflow: z.string().max(100).optional(),
  retention: z.enum(["keep", "ephemeral"]).optional(),
});
const keySchema = lineOfText.min(1).max(200).optional();

function parse<Value>(schema: z.ZodType<Value>, value: unknown): Value {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new AppError("bad_request", z.prettifyError(result.error), {
    details: { issues: issuesOf(result.error) },
  });
}

/** POST /CreateImageFromPrompt: stores the job and answers at once; its first failure is final (A14). */
export async function createImageFromPrompt({ services, request }: Call): Promise<Answer> {
  const { workflow, retention, ...params } = parse(bodySchema, await readJson(request));
  const key = parse(keySchema, request.headers["idempotency-key"]);
  const account = await workerAccount(services);
  const { id } = await submit(
    services,
    { kind: "text_to_image", params, workflow, retention },
    {
      submitter: { userId: account.id, isGuest: false },
      once: true,
      ...(key === undefined ? {} : { idempotencyKey: key }),
    },
  );
  return { status: 202, headers: { location: `/status/${id}` }, json: { status: "accepted", job_id: id } };
}
