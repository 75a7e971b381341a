import { createHash } from "node:crypto";
import { and, eq, inArray, sql } from "drizzle-orm";
import { recordAct } from "../audit/index.ts";
import { schema } from "../db/index.ts";
import { type JobKind, type InputRole } from "../engines.ts";
import {
  estimate,
  parseSubmit,
  readJob,
  type Submitted,
  submit,
  type SubmitInput,
  type Submitter,
} from "../jobs/index.ts";
import { AppError, isId, newId } from "../platform/index.ts";
import { consentIsStored } from "../safety.ts";
import type { Services } from "../services.ts";

const { proposals, images } = schema;

type Row = typeof proposals.$inferSelect;

/** A request for a job as the assistant makes it; what a person has to say, such as the consent, is not in it. */
export interface ProposedRequest {
  readonly kind: JobKind;
  readonly params: Readonly<Record<string, unknown>>;
  readonly inputs: Readonly<Partial<Record<InputRole, string>>>;
}

export interface ProposalView {
  readonly id: string;
  readonly title: string;
  readonly state: Row["state"];
  readonly request: ProposedRequest;
  /** The user has to say that the photo shows an adult who agrees, and did not do so yet. */
  readonly needsConsent: boolean;
  readonly jobId: string | null;
}

export interface NewProposal {
  readonly runId: string;
  readonly title: string;
  readonly request: ProposedRequest;
  readonly submitter: Submitter;
}

/**
 * Stores a proposal after a check that the request could run. It starts nothing. The same request in one
 * question gives the same proposal, however often a stage is repeated; ids of calls say nothing, since many servers number
 * the calls of each answer from 0. Throws what `estimate` throws, and `no_engine`.
 */
export async function propose(services: Services, proposal: NewProposal): Promise<ProposalView> {
  const { runId, title, request, submitter } = proposal;
  const answer = await estimate(services, complete(request, true), submitter);
  if (!answer.isPossible) throw new AppError("no_engine", answer.reason);
  const requestSha256 = createHash("sha256").update(JSON.stringify(request)).digest("hex");
  await services.db
    .insert(proposals)
    .values({
      id: newId(),
      runId,
      ownerId: submitter.userId,
      toolCallId: requestSha256,
      request: { ...request },
      requestSha256,
      title,
    })
    .onConflictDoNothing();
  const [stored] = await selectProposals(services.db).where(
    and(eq(proposals.runId, runId), eq(proposals.requestSha256, requestSha256)),
  );
  if (!stored) throw new AppError("internal", "A proposal was stored and is not there.");
  return viewOf(stored);
}

/** The request as `submit` takes it. */
function complete({ kind, params, inputs }: ProposedRequest, hasConsent: boolean) {
  return {
    kind,
    inputs,
    params: kind === "outfit_change" && hasConsent ? { ...params, consent: true } : params,
  };
}

/** Proposals, each with whether the consent for its photo is stored. */
function selectProposals(db: Services["db"]) {
  const photoId = sql`(${proposals.request} -> 'inputs' ->> 'person')::uuid`;
  return db
    .select({ row: proposals, isStated: consentIsStored(images) })
    .from(proposals)
    .leftJoin(images, and(eq(images.id, photoId), eq(images.ownerId, proposals.ownerId)));
}

// Safe: only `propose` writes it.
const requestOf = ({ request }: Row) => request as unknown as ProposedRequest;

function viewOf({ row, isStated }: Awaited<ReturnType<typeof selectProposals>>[number]): ProposalView {
  const { id, title, state, jobId } = row;
  const request = requestOf(row);
  return { id, title, state, request, needsConsent: request.kind === "outfit_change" && !isStated, jobId };
}

/** The proposals of runs. */
export async function readProposals(
  { db }: Pick<Services, "db">,
  runIds: readonly string[],
): Promise<ProposalView[]> {
  if (runIds.length === 0) return [];
  const rows = await selectProposals(db).where(inArray(proposals.runId, [...runIds]));
  return rows.map(viewOf);
}

export interface Approval {
  readonly id: string;
  readonly hasConsent: boolean;
  /** As the user chose beside the button. */
  readonly ownOnly?: boolean;
  /** The place and price that the user saw. */
  readonly agreed?: SubmitInput["agreed"];
  readonly submitter: Submitter;
}

/**
 * Starts the job of a proposal: the one act of the assistant that costs, and only ever by the user's click on this very
 * request. A second click, or one after a crash, gives the same job. The transaction that stores the job also moves the
 * proposal, so that of an approval and a refusal at the same moment exactly one wins. Throws `not_found`, `conflict` when
 * it was declined, and what `submit` throws, `consent_required` and `not_agreed` among it.
 */
export async function approve(services: Services, approval: Approval): Promise<Submitted> {
  const { id, hasConsent, ownOnly = false, agreed, submitter } = approval;
  const own = and(eq(proposals.id, id), eq(proposals.ownerId, submitter.userId));
  const [known] = isId(id) ? await services.db.select().from(proposals).where(own) : [];
  if (!known) throw new AppError("not_found");
  if (known.state === "declined") throw declined();
  // The key of the job is gone after a while, and the job may be: it is not started again.
  if (known.state === "approved") return readApproved(services, known);
  const proposed = requestOf(known);
  const request = complete(proposed, hasConsent);
  const submitted = await submit(
    services,
    { ...request, ownOnly, agreed },
    {
      submitter,
      ownKey: `assistant-${id}`,
      // A second click may have another choice or consent beside it: it is the same proposal.
      asked: parseSubmit(complete(proposed, false)),
      async alongside(tx, jobId) {
        const [moved] = await tx
          .update(proposals)
          .set({ state: "approved", jobId, decidedAt: sql`clock_timestamp()` })
          .where(and(own, inArray(proposals.state, ["open", "approved"])))
          .returning({ id: proposals.id });
        if (!moved) throw declined();
        const { userId: by } = submitter;
        await recordAct(tx, {
          kind: "assistant.approved",
          by,
          object: id,
          details: { jobId, agreed: agreed ?? null },
        });
      },
    },
  );
  hintDecided(services, known);
  return submitted;
}

async function readApproved(services: Services, { jobId }: Row): Promise<Submitted> {
  const job = jobId === null ? null : await readJob(services, jobId);
  if (job) return { id: job.id, status: job.status };
  throw new AppError("conflict", "The job of this proposal has ended and was removed.");
}

/** Publishes that a proposal was decided, which shows with its question. */
function hintDecided({ hints }: Services, { runId, ownerId }: Pick<Row, "runId" | "ownerId">): void {
  hints.publish({ type: "run", runId, ownerId, status: null });
}

const declined = () => new AppError("conflict", "This proposal was declined.");

/** Refuses a proposal for good. Throws `not_found`, and `conflict` when it was approved. */
export async function decline(
  services: Services,
  { id, ownerId }: { readonly id: string; readonly ownerId: string },
): Promise<void> {
  if (!isId(id)) throw new AppError("not_found");
  const own = and(eq(proposals.id, id), eq(proposals.ownerId, ownerId));
  const moved = await services.db.transaction(async (tx) => {
    const [row] = await tx
      .update(proposals)
      .set({ state: "declined", decidedAt: sql`clock_timestamp()` })
      .where(and(own, inArray(proposals.state, ["open", "declined"])))
      .returning({ runId: proposals.runId });
    if (row) await recordAct(tx, { kind: "assistant.declined", by: ownerId, object: id });
    return row;
  });
  if (moved) return hintDecided(services, { ...moved, ownerId });
  const [known] = await services.db.select({ id: proposals.id }).from(proposals).where(own);
  throw known ? new AppError("conflict", "This proposal was approved.") : new AppError("not_found");
}
