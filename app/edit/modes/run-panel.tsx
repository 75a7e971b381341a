"use client";
import { useQuery } from "@tanstack/react-query";
import { ChevronDown, RotateCcw } from "lucide-react";
import { useTranslations } from "next-intl";
import { useId, useRef, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import type { SubmitInput } from "@atelier/server/jobs";
import { type OfferedParam, type OfferedWorkflow, useAllWorkflows } from "../../client/queries.ts";
import { makingQuery } from "../../client/source.ts";
import { choiceOf } from "../../client/submit/job.ts";
import { useRunTimes } from "../../client/submit/run-times.ts";
import { nearestAllowed, resolveSetting } from "../../client/numbers.ts";
import { Warning } from "../../jobs/offer-line.tsx";
import { useTimeText } from "../../jobs/waiting-text.ts";
import { NumberSetting, SeedChoice, useLacksText } from "../../parts/run-settings.tsx";
import { Button, cx } from "../../ui/button.tsx";
import { Segmented } from "../../ui/fields.tsx";
import { Select } from "../../ui/select.tsx";
import { type ModeRun, PromptField, type RunChoiceProps } from "./parts.tsx";
import { paramsOfRun, type RunNumber, runNumbers, settingsTaken, withoutSettings } from "./run.ts";

/** No workflow has such a name. */
const automatic = "automatic/";

/** The request as another workflow or model would get it; any words will do. */
function requestWith(quoted: SubmitInput, run: ModeRun, workflow: OfferedWorkflow): SubmitInput {
  const { workflow: _workflow, model: _model, params = {}, ...request } = quoted;
  const own = Object.entries(params).filter(([name]) => !(name in run.params));
  const filled = own.map(([name, value]) => [name, name === "prompt" && value === "" ? "-" : value]);
  // Safe cast: the params are those of the kind, with settings that the workflow takes.
  return {
    ...request,
    ...choiceOf(workflow),
    params: { ...Object.fromEntries(filled), ...paramsOfRun(run.settings, workflow) },
  } as SubmitInput;
}

/** What was chosen and cannot run now, and why. */
function Lost({ name }: { readonly name: string }) {
  const t = useTranslations("edit.run");
  const lacksText = useLacksText();
  const known = useAllWorkflows()?.find((workflow) => workflow.name === name);
  const title = known?.title ?? name.replace(/^cloud\//, "");
  const reason = known === undefined ? null : lacksText(known);
  return (
    <div role="status">
      <Warning>{[t("lost", { title }), reason].filter(Boolean).join(" ")}</Warning>
    </div>
  );
}

/** The select of what can do this now, the studio's own choice first. */
function ModelChoice({ run, quoted }: Omit<RunChoiceProps, "image">) {
  const t = useTranslations("edit.run");
  const offer = useTranslations("jobs.offer");
  const { runs } = useTimeText();
  const { kind, options, chosen, lost, settings, change } = run;
  const requests = options.map((workflow) => (quoted === null ? null : requestWith(quoted, run, workflow)));
  const times = useRunTimes(requests);
  const [best] = options;
  const means =
    run.automatic === "server" || best === undefined
      ? t("automaticServer")
      : t("automaticBest", { title: best.title });
  const choose = (name: string) => {
    const { [kind]: _former, ...others } = settings.models;
    change({ models: name === automatic ? others : { ...others, [kind]: name } });
  };
  return (
    <div className="flex flex-col gap-1.5">
      <Select
        label={t("model")}
        value={chosen?.name ?? automatic}
        onChange={choose}
        options={[
          { value: automatic, title: t("automatic"), description: means },
          ...options.map(({ name, title, description, cloud }, at) => {
            const runMs = times[at] ?? null;
            // The description of a model of a provider says where it is and what it costs.
            const place = cloud === null ? offer("onAnyServer") : null;
            const time = runMs === null ? null : runs(runMs);
            const told = [description, place].filter(Boolean).join(" ");
            return { value: name, title, description: time === null ? told : `${told} · ${time}` };
          }),
        ]}
      />
      {lost === null ? null : <Lost name={lost} />}
    </div>
  );
}

interface NumberChoiceProps {
  readonly label: string;
  readonly param: OfferedParam;
  /** Undefined: as the run has it by itself. */
  readonly value: number | undefined;
  readonly onChange: (value: number | undefined) => void;
}

/** A number with the run's default; where it declares none, as the run decides until one is set. */
function NumberChoice({ label, param, value, onChange }: NumberChoiceProps) {
  const t = useTranslations("edit.run");
  const { min = 0, max = 1 } = param;
  const shown = resolveSetting(param, value);
  const setting =
    shown === undefined ? null : (
      <NumberSetting label={label} param={param} value={shown} onChange={onChange} />
    );
  if (typeof param.default === "number") return setting;
  return (
    <div className="flex flex-col gap-2">
      <div className="flex items-center justify-between gap-2">
        <span aria-hidden className="text-xs font-medium">
          {label}
        </span>
        <Segmented
          label={label}
          value={shown === undefined ? automatic : "fixed"}
          onChange={(next) =>
            onChange(next === automatic ? undefined : nearestAllowed((min + max) / 2, param))
          }
          options={[
            { value: automatic, label: t("automatic") },
            { value: "fixed", label: t("fixed") },
          ]}
        />
      </div>
      {setting}
    </div>
  );
}

interface SettingsProps {
  readonly run: ModeRun;
  readonly used: OfferedWorkflow;
  readonly image: ImageView;
  /** How many pictures a click makes. */
  readonly count: number;
}

function Settings({ run, used, image, count }: SettingsProps) {
  const t = useTranslations("edit.run");
  const params = useTranslations("params");
  const { settings, change } = run;
  const taken = settingsTaken(used);
  const own = settings.numbers[used.name];
  const { data: job } = useQuery(makingQuery(image));
  const lastSeed = job?.params.seed;
  const set = (name: RunNumber, value: number | undefined) =>
    change({ numbers: { ...settings.numbers, [used.name]: { ...own, [name]: value } } });
  return (
    <>
      {runNumbers.map((name) => {
        const param = taken[name];
        return param === undefined ? null : (
          <div key={name}>
            <NumberChoice
              label={params(name)}
              param={param}
              value={own?.[name]}
              onChange={(value) => set(name, value)}
            />
            {name === "strength" ? <p className="text-xs text-quiet">{t("strengthHint")}</p> : null}
          </div>
        );
      })}
      {taken.negativePrompt === undefined ? null : (
        <div className="flex flex-col gap-1.5">
          <span aria-hidden className="text-xs font-medium">
            {params("negativePrompt")}
          </span>
          <PromptField
            label={params("negativePrompt")}
            hint=""
            value={settings.negativePrompt}
            onChange={(negativePrompt) => change({ negativePrompt })}
          />
        </div>
      )}
      {taken.seed === undefined ? null : (
        <SeedChoice
          seed={settings.seed}
          onChange={(seed) => change({ seed })}
          lastSeed={typeof lastSeed === "number" ? lastSeed : null}
          count={count}
        />
      )}
    </>
  );
}

/** The settings of the run that is used, closed at first; it says when one differs from the default. */
function SettingsPart(props: SettingsProps) {
  const t = useTranslations("edit");
  const { run, used } = props;
  const [isOpen, setOpen] = useState(false);
  const head = useRef<HTMLButtonElement>(null);
  const id = useId();
  const isChanged = Object.keys(run.params).length > 0;
  const reset = () => {
    run.change(withoutSettings(run.settings, used));
    // The button that was pressed goes.
    head.current?.focus();
  };
  return (
    <div data-settings-open={isOpen ? "" : undefined} className="rounded-control border border-line">
      <div className="flex min-h-9 items-center pe-0.5">
        <button
          ref={head}
          type="button"
          aria-expanded={isOpen}
          aria-controls={id}
          onClick={() => setOpen((open) => !open)}
          className="flex min-h-9 flex-1 items-center gap-2 rounded-control px-3 text-start text-xs font-medium"
        >
          <ChevronDown
            aria-hidden
            className={cx("size-4 shrink-0 text-quiet transition-transform", isOpen && "rotate-180")}
          />
          {t("run.settings")}
          {isChanged ? (
            <>
              <span aria-hidden className="size-2 shrink-0 rounded-full bg-accent" />
              <span className="sr-only">{t("run.changed")}</span>
            </>
          ) : null}
        </button>
        {isChanged ? (
          <Button look="quiet" size="small" onClick={reset}>
            <RotateCcw aria-hidden />
            {t("resetMode")}
          </Button>
        ) : null}
      </div>
      <div id={id} hidden={!isOpen} className="border-t border-line px-3 py-3">
        <div className="flex flex-col gap-4">{isOpen ? <Settings {...props} /> : null}</div>
      </div>
    </div>
  );
}

/** What makes the picture of a mode, and with which settings. */
export function RunPanel({ run, image, quoted, count = 1 }: RunChoiceProps) {
  const { used, options, lost, chosen } = run;
  // The best fit alone is no choice.
  const hasChoice =
    options.length > (run.automatic === "server" ? 0 : 1) || chosen !== undefined || lost !== null;
  const hasSettings = used !== undefined && Object.keys(settingsTaken(used)).length > 0;
  return (
    <div className="flex flex-col gap-3">
      {hasChoice ? <ModelChoice run={run} quoted={quoted} /> : null}
      {hasSettings ? (
        <SettingsPart key={used.kind} run={run} used={used} image={image} count={count} />
      ) : null}
    </div>
  );
}
