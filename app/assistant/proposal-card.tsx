"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Check } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useState } from "react";
import type { ProposalView } from "@atelier/server/assistant";
import type { JobView, SubmitInput } from "@atelier/server/jobs";
import { type Agreed, freeOnly, withAgreement } from "../client/submit/agreement.ts";
import { api } from "../client/api.ts";
import { ownOnly } from "../client/cloud.ts";
import { useFailureToast } from "../ui/failures.ts";
import { agreedTo, useEstimate } from "../client/submit/job.ts";
import { OwnOnlyChoice } from "../parts/own-only.tsx";
import { OfferLine } from "../jobs/offer-line.tsx";
import { JobStateLine } from "../jobs/row.tsx";
import { useJob } from "../live/hooks.tsx";
import { AiBadge, Picture } from "../pictures/picture.tsx";
import { Button, Spinner } from "../ui/button.tsx";
import { Checkbox } from "../ui/fields.tsx";
import { conversationKeys } from "./queries.ts";

/** The request as an estimate takes it. */
function requestOf({ request: { kind, inputs, params } }: ProposalView): SubmitInput {
  // Safe: the server checked the request when it stored the proposal.
  return { kind, inputs, params } as SubmitInput;
}

function JobResult({ job }: { readonly job: JobView }) {
  const t = useTranslations("assistant.proposal");
  const [output] = job.outputs;
  if (job.status !== "completed" || output === undefined) return <JobStateLine job={job} />;
  return (
    <Link
      href={`/gallery?image=${output.imageId}`}
      aria-label={t("openResult")}
      className="relative block w-full max-w-[320px] overflow-hidden rounded-card bg-well"
      style={{ aspectRatio: `${output.widthPx} / ${output.heightPx}` }}
    >
      <Picture
        imageId={output.imageId}
        variant="preview"
        thumbhash={output.thumbhash}
        alt={t("result")}
        className="size-full"
      />
      <span className="pointer-events-none absolute inset-e-1.5 bottom-1.5">
        <AiBadge />
      </span>
    </Link>
  );
}

/** The job of an approved proposal, live. */
function ApprovedJob({ jobId }: { readonly jobId: string }) {
  const t = useTranslations("assistant.proposal");
  const { job, isMissing } = useJob(jobId);
  if (isMissing) return <p className="text-xs text-quiet">{t("jobGone")}</p>;
  if (job === undefined) return <Spinner />;
  return (
    <div className="flex flex-col gap-2">
      <JobResult job={job} />
      <Link href={`/jobs/${jobId}`} className="self-start text-xs text-quiet underline underline-offset-2">
        {t("toJob")}
      </Link>
    </div>
  );
}

interface Approval {
  readonly hasConsent: boolean;
  /** The place and price on the card. */
  readonly shown: Agreed | null;
}

function usePropose(proposal: ProposalView, conversationId: string) {
  const queries = useQueryClient();
  const onError = useFailureToast();
  const onSuccess = () => queries.invalidateQueries({ queryKey: conversationKeys.one(conversationId) });
  const { id } = proposal;
  const approve = useMutation({
    mutationFn: ({ hasConsent, shown }: Approval) =>
      withAgreement(shown ?? freeOnly, (agreed) =>
        api.assistant.approve.mutate({ id, hasConsent, ownOnly: ownOnly.get(), agreed }),
      ),
    onSuccess,
    onError,
  });
  const decline = useMutation({ mutationFn: () => api.assistant.decline.mutate({ id }), onSuccess, onError });
  return { approve, decline };
}

interface Props {
  readonly proposal: ProposalView;
  readonly conversationId: string;
}

function OpenProposal({ proposal, conversationId }: Props) {
  const t = useTranslations("assistant.proposal");
  const [hasConsent, setConsent] = useState(false);
  const { approve, decline } = usePropose(proposal, conversationId);
  const isBusy = approve.isPending || decline.isPending;
  const answer = useEstimate(requestOf(proposal));
  const isPossible = answer?.isPossible !== false;
  return (
    <>
      <OfferLine answer={answer} />
      <OwnOnlyChoice />
      {proposal.needsConsent ? (
        <Checkbox checked={hasConsent} onChange={setConsent}>
          {t("consent")}
        </Checkbox>
      ) : null}
      <div className="flex flex-wrap gap-2">
        <Button
          look="primary"
          disabled={isBusy || !isPossible || (proposal.needsConsent && !hasConsent)}
          onClick={() => approve.mutate({ hasConsent, shown: agreedTo(answer) })}
        >
          {approve.isPending ? <Spinner /> : <Check aria-hidden />}
          {t("approve")}
        </Button>
        <Button look="quiet" disabled={isBusy} onClick={() => decline.mutate()}>
          {t("decline")}
        </Button>
      </div>
    </>
  );
}

const roles = ["image", "person", "garment", "reference"] as const;

/** A job that the assistant proposes: what, with which pictures, where, for how much; it starts by this card's button alone. */
export function ProposalCard({ proposal, conversationId }: Props) {
  const t = useTranslations("assistant.proposal");
  const kinds = useTranslations("jobs.kinds");
  const { kind, inputs, params } = proposal.request;
  const pictures = roles.flatMap((role) => {
    const id = inputs[role];
    return id === undefined ? [] : [{ role, id }];
  });
  const { prompt } = params;
  return (
    <section
      aria-label={t("label", { kind: kinds(kind) })}
      className="flex flex-col gap-3 rounded-card border border-edge/70 bg-surface p-4"
    >
      <h3 className="text-sm font-medium">{kinds(kind)}</h3>
      {typeof prompt === "string" ? <p className="text-sm break-words text-quiet">{prompt}</p> : null}
      {pictures.length > 0 ? (
        <ul className="flex gap-2">
          {pictures.map(({ role, id }) => (
            <li key={role} className="size-20 overflow-hidden rounded-control bg-well">
              <Picture imageId={id} variant="thumbnail" alt={t(`roles.${role}`)} className="size-full" />
            </li>
          ))}
        </ul>
      ) : null}
      {proposal.state === "open" ? (
        <OpenProposal proposal={proposal} conversationId={conversationId} />
      ) : null}
      {proposal.state === "declined" ? <p className="text-xs text-quiet">{t("declined")}</p> : null}
      {proposal.jobId === null ? null : <ApprovedJob jobId={proposal.jobId} />}
    </section>
  );
}
