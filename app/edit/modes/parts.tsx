"use client";
import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import type { ImageView } from "@atelier/server/images";
import type { JobKind } from "@atelier/server/engines";
import type { SubmitInput } from "@atelier/server/jobs";
import { useWorkflows } from "../../client/cloud.ts";
import type { OfferedParam, OfferedWorkflow } from "../../client/queries.ts";
import { agreedTo, choiceOf, useEstimate } from "../../client/submit/job.ts";
import { RunButton } from "../../parts/run-button.tsx";
import { OfferLine } from "../../jobs/offer-line.tsx";
import { useFailureToast } from "../../ui/failures.ts";
import { later } from "../../ui/later.tsx";
import {
  type CandidateChoice,
  CandidateCount,
  type OnJobs,
  useCandidateRun,
} from "../document/candidate-run.tsx";
import type { Mark } from "../mask/marks.ts";
import type { EditorSession } from "../session.ts";
import type { ModeId, RunMode } from "./mode-settings.ts";
import type { ModeSession } from "./mode-state.ts";
import { paramsOfRun, type RunSettings, runsOf } from "./run.ts";

/** What every mode's body gets. */
export interface ModeProps {
  readonly image: ImageView;
  readonly session: EditorSession;
  readonly modes: ModeSession;
  /** A job of this editor session runs. */
  readonly isBusy: boolean;
  /** `spent` are the marks that the job used. */
  readonly onJob: OnJobs;
  /** How many results a click makes, for modes whose results differ. */
  readonly candidates: CandidateChoice;
}

/** The settings of one mode, and how they are changed. */
export function settingsOf<Mode extends ModeId>({ state, change }: ModeSession, mode: Mode) {
  type Settings = ModeSession["state"]["settings"][Mode];
  return [state.settings[mode], (changes: Partial<Settings>) => change(mode, changes)] as const;
}

interface ModeActionProps extends Pick<ModeProps, "isBusy" | "onJob"> {
  readonly icon: ReactNode;
  readonly label: string;
  /** Why it cannot run now, or what is missing; null when nothing is. */
  readonly obstacle: string | null;
  /** Asked where it would run, for how long and for which price; null asks nothing. */
  readonly quoted: SubmitInput | null;
  /** What is sent; uploads what it needs first. */
  readonly makeRequest: () => Promise<SubmitInput> | SubmitInput;
  readonly spent?: readonly Mark[];
  /** Offers several results; missing where all would be the same. */
  readonly candidates?: CandidateChoice;
  /** The range of the seeds of several results. */
  readonly seeds?: OfferedParam | undefined;
  /** The request was answered, or failed with this error. */
  readonly onSettled?: (error: unknown) => void;
}

/** The one primary button of a mode, below what it needs or where it would run, when, and for how much. */
export function ModeAction(props: ModeActionProps) {
  const { icon, label, obstacle, quoted, isBusy, makeRequest, spent, candidates, onJob } = props;
  const run = useCandidateRun(props.onSettled);
  const count = candidates?.count ?? 1;
  const answer = useEstimate(quoted);
  const isPossible = answer?.isPossible !== false;
  return (
    <div className="flex flex-col gap-2 bg-paper max-wide:sticky max-wide:z-1 max-wide:-bottom-4 max-wide:-mx-4 max-wide:border-t max-wide:border-line max-wide:px-4 max-wide:py-3">
      {candidates === undefined ? null : <CandidateCount {...candidates} answer={answer} />}
      {obstacle === null ? (
        <OfferLine answer={answer} />
      ) : (
        <p className="tabular min-h-[18px] text-xs text-quiet">{obstacle}</p>
      )}
      <RunButton
        canRun={obstacle === null && isPossible && !run.isPending}
        isBusy={isBusy || run.isPending}
        onRun={() =>
          run.mutate({ makeRequest, shown: agreedTo(answer), count, spent, onJob, seeds: props.seeds })
        }
        className="w-full px-3! sm:max-wide:max-w-80 sm:max-wide:self-center"
      >
        {icon}
        {label}
      </RunButton>
    </div>
  );
}

interface PromptFieldProps {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

const maxCharacters = 2_000;

export function PromptField({ label, hint, value, onChange }: PromptFieldProps) {
  return (
    <textarea
      aria-label={label}
      placeholder={hint}
      value={value}
      rows={3}
      maxLength={maxCharacters}
      onChange={(event) => onChange(event.target.value)}
      className="field-sizing-content max-h-40 min-h-20 w-full resize-none rounded-control border border-edge bg-surface px-3 py-2 text-sm placeholder:text-quiet hover:border-quiet"
    />
  );
}

/** What a mode does, in a sentence. */
export function ModeHint({ mode }: { readonly mode: ModeId }) {
  const t = useTranslations("edit.modes");
  return <p className="text-xs text-quiet">{t(`${mode}.hint`)}</p>;
}

/** Whether it takes these pictures and needs no others. */
export function takesPictures({ inputs }: OfferedWorkflow, roles: readonly string[]): boolean {
  return (
    roles.every((role) => inputs.some((input) => input.role === role)) &&
    inputs.every(({ role, required }) => !required || roles.includes(role))
  );
}

/** The best live workflow that takes a prompt and exactly these pictures. */
export function findForPrompt(
  workflows: readonly OfferedWorkflow[] | undefined,
  roles: readonly string[],
): OfferedWorkflow | undefined {
  return workflows?.find((workflow) => workflow.isLive && paintsBy(workflow, roles));
}

/** Whether it takes a prompt and exactly these pictures. */
export function paintsBy(workflow: OfferedWorkflow, roles: readonly string[]): boolean {
  return workflow.params.prompt !== undefined && takesPictures(workflow, roles);
}

interface RunInput extends Pick<ModeProps, "modes"> {
  readonly mode: RunMode;
  readonly kind: JobKind;
  /** Whether a workflow or model can do what the mode is set to. */
  readonly fits: (workflow: OfferedWorkflow) => boolean;
  /**
   * Without a choice: `best` is the first that fits; `server` what the server chooses, which may be another engine; `settings` the
   * same as long as no setting is changed, since these are of the first that fits.
   */
  readonly automatic: "best" | "settings" | "server";
}

/** What the next run of a mode is made with: what can be chosen, what was, and what of it the request gets. */
export function useRun({ modes, mode, kind, fits, automatic }: RunInput) {
  const settings: RunSettings = modes.state.settings[mode];
  const change = (changes: Partial<RunSettings>) => modes.change(mode, changes);
  const wanted = settings.models[kind];
  const { options, chosen, lost } = runsOf({ offered: useWorkflows(kind), fits, wanted });
  const used = chosen ?? (automatic === "server" ? undefined : options[0]);
  const params = paramsOfRun(settings, used);
  const isNamed = chosen !== undefined || automatic === "best" || Object.keys(params).length > 0;
  return {
    kind,
    automatic,
    settings,
    change,
    options,
    chosen,
    lost,
    /** Whose settings are shown; undefined where the server chooses, or nothing fits. */
    used,
    params,
    choice: used !== undefined && isNamed ? choiceOf(used) : {},
  };
}

export type ModeRun = ReturnType<typeof useRun>;

const RunPanel = later(async () => (await import("./run-panel.tsx")).RunPanel);

export interface RunChoiceProps {
  readonly run: ModeRun;
  readonly image: ImageView;
  /** How many pictures a click makes. Default: 1. */
  readonly count?: number;
  /** A request of this mode, to ask how long each choice takes; null where something is missing. */
  readonly quoted: SubmitInput | null;
}

/** What makes the picture, and with which settings. */
export function RunChoice(props: RunChoiceProps) {
  const showFailure = useFailureToast();
  const { automatic, options, lost } = props.run;
  // Where nothing fits, the mode says what is missing.
  if (options.length === 0 && (lost === null || automatic === "best")) return null;
  return (
    <RunPanel isWanted onFailure={showFailure} props={props}>
      <div className="h-[107px]" />
    </RunPanel>
  );
}

/** The best live workflow that upscales by this factor. */
export function findForScale(
  workflows: readonly OfferedWorkflow[] | undefined,
  scale: number,
): OfferedWorkflow | undefined {
  return workflows?.find((workflow) => workflow.isLive && upscalesBy(workflow, scale));
}

export function upscalesBy({ params }: OfferedWorkflow, scale: number): boolean {
  return String(scale) in (params.scale?.choices ?? {});
}
