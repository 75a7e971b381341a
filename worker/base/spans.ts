import type { Job, Lease } from "@atelier/server/jobs";
import { inSpan, type SpanStart, type Tracing } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";

type Traced = Pick<Services, "tracing">;

const factsOf = ({ id, kind, queue, need, attempt }: Job) => ({
  "atelier.job.id": id,
  "atelier.job.kind": kind,
  "atelier.job.attempt": attempt,
  "atelier.queue": queue,
  "atelier.need": need,
});

/** The log of one attempt of a job, by which its lines are found beside those of its request. */
export function logOfRun(
  { log }: Pick<Services, "log">,
  { id: jobId, kind, requestId }: Job,
  { attempt, nodeId }: Lease,
): Services["log"] {
  return log.child({ jobId, kind, attempt, nodeId, ...(requestId === null ? {} : { requestId }) });
}

/** The wait of a job, and the claim that ended it, from `claimingAt` on: both are over when they are known. */
export function noteClaim({ tracing }: Traced, job: Job, claimingAt: Date): void {
  if (tracing === null) return;
  const common = { parent: job.traceparent, attributes: factsOf(job) };
  const waitedFrom = job.attempt <= 1 ? job.createdAt : (job.queuedAt ?? claimingAt);
  tracing.start("wait", { ...common, startedAt: waitedFrom }).end();
  tracing.start("claim", { ...common, kind: "consumer", startedAt: claimingAt }).end();
}

/** One attempt of a job; spans of its steps are below it. `outcome` reads what the span is told of the result. */
export function inRunSpan<Outcome extends string>(
  { tracing }: Traced,
  job: Job,
  work: () => Promise<Outcome>,
): Promise<Outcome> {
  const start: SpanStart = { parent: job.traceparent, kind: "consumer", attributes: factsOf(job) };
  return inSpan(tracing, `run ${job.kind}`, start, async (span) => {
    const outcome = await work();
    span?.set({ "atelier.outcome": outcome });
    return outcome;
  });
}

/** One call of a model that makes pictures, named as the conventions of OpenTelemetry for generative AI have it. */
export function inModelSpan<Answer>(
  { tracing }: Traced,
  { job, provider, model }: { readonly job: Job; readonly provider: string; readonly model: string },
  work: () => Promise<Answer>,
): Promise<Answer> {
  const { seed } = job.params as { readonly seed?: unknown };
  const attributes = {
    "gen_ai.operation.name": "generate_content",
    "gen_ai.output.type": "image",
    "gen_ai.provider.name": provider,
    "gen_ai.request.model": model,
    "gen_ai.request.seed": typeof seed === "number" ? seed : null,
    ...promptOf(tracing, job),
  };
  return inSpan(tracing, `generate_content ${model}`, { kind: "client", attributes }, work);
}

/** The prompt, only where the operator asked for prompts in spans. */
function promptOf(tracing: Tracing | null, { params }: Job) {
  const { prompt } = params as { readonly prompt?: unknown };
  if (!tracing?.takesPrompts || typeof prompt !== "string") return {};
  const messages = [{ role: "user", parts: [{ type: "text", content: prompt }] }];
  return { "gen_ai.input.messages": JSON.stringify(messages) };
}
