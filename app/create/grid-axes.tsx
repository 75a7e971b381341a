"use client";
import { useTranslations } from "next-intl";
import type { OfferedWorkflow } from "../client/queries.ts";
import { Warning } from "../jobs/offer-line.tsx";
import { cx, inputStyle } from "../ui/button.tsx";
import { Select } from "../ui/select.tsx";
import { type Axis, createForm, isListed, listedSettings, mostStyles, useForm } from "./form.ts";
import { useListed } from "./listed.tsx";
import { usePresets } from "./library.tsx";
import { wordsIn } from "./axis-values.ts";
import { usePictureProblemText } from "./reference-list.tsx";
import type { PlanProblem } from "./plan.ts";
import { rolesOf } from "./references.ts";
import { sizeForAspect } from "./requests.ts";

interface ChoicesProps {
  readonly label: string;
  readonly chosen: readonly string[];
  readonly options: readonly { readonly value: string; readonly title: string }[];
  readonly onChange: (chosen: readonly string[]) => void;
}

/** Several of a few names, in the order in which they are offered. */
function Choices({ label, chosen, options, onChange }: ChoicesProps) {
  const toggle = (value: string) =>
    onChange(options.map((one) => one.value).filter((one) => (one === value) !== chosen.includes(one)));
  return (
    <div role="group" aria-label={label} className="flex max-h-32 flex-wrap gap-1.5 overflow-y-auto p-px">
      {options.map(({ value, title }) => (
        <button
          key={value}
          type="button"
          aria-pressed={chosen.includes(value)}
          onClick={() => toggle(value)}
          className={cx(
            "touch h-8 rounded-full px-3 text-xs ring-1 ring-inset",
            chosen.includes(value) ? "bg-ink text-paper ring-ink" : "text-quiet ring-line hover:bg-hover",
          )}
        >
          {title}
        </button>
      ))}
    </div>
  );
}

const quote = (name: string) => (/[,"\n]/.test(name) ? JSON.stringify(name) : name);

/** What the params of an axis may be with this workflow. */
function axisParamsFor(workflow: OfferedWorkflow): readonly Axis["param"][] {
  const { params } = workflow;
  return [
    "part",
    ...(["seed", "steps", "guidance"] as const).filter((name) => params[name] !== undefined),
    ...(sizeForAspect(workflow, "1:1") === null ? [] : ["size" as const]),
    "workflow",
    "style",
    ...(params.loras === undefined ? [] : ["lora" as const]),
    ...listedSettings.filter((name) => params[name] !== undefined),
    ...(rolesOf(workflow).length === 0 ? [] : ["picture" as const]),
  ];
}

interface AxisFieldProps {
  readonly name: "xAxis" | "yAxis";
  readonly chosen: OfferedWorkflow;
  readonly offered: readonly OfferedWorkflow[];
}

/** What one axis varies, and its values. */
function AxisField({ name, chosen, offered }: AxisFieldProps) {
  const t = useTranslations("create.grid");
  const { xAxis, yAxis } = useForm();
  const presets = usePresets("style");
  const axis = name === "xAxis" ? xAxis : yAxis;
  const set = (changes: Partial<Axis>) => createForm.set({ [name]: { ...axis, ...changes } });
  const other = (name === "xAxis" ? yAxis : xAxis).param;
  const params = axisParamsFor(chosen).filter((param) => param !== other || param === axis.param);
  const label = t("values", { axis: t(name) });
  const setting = isListed(axis.param) ? axis.param : undefined;
  const listed = useListed(setting === undefined ? null : chosen.name);
  const ofNames = () =>
    axis.param === "workflow"
      ? offered.map(({ name: value, title }) => ({ value, title }))
      : presets.map((style) => ({ value: style.name, title: style.title }));
  const options =
    setting === undefined ? ofNames() : (listed?.[setting] ?? []).map((value) => ({ value, title: value }));
  return (
    <div className="grid gap-x-3 gap-y-1.5 sm:grid-cols-[212px_minmax(0,1fr)] sm:items-start">
      <Select
        label={t(name)}
        value={axis.param}
        options={params.map((param) => ({ value: param, title: t(`params.${param}`) }))}
        onChange={(value) => {
          const param = params.find((one) => one === value);
          if (param !== undefined) set({ param, text: "" });
        }}
      />
      {axis.param === "workflow" || axis.param === "style" || setting !== undefined ? (
        <div className="sm:pt-6">
          <Choices
            label={label}
            chosen={wordsIn(axis.text)}
            options={options}
            onChange={(names) => set({ text: names.map(quote).join(", ") })}
          />
        </div>
      ) : (
        <div className="flex flex-col gap-1 sm:pt-6">
          <input
            aria-label={label}
            value={axis.text}
            maxLength={4_000}
            placeholder={t(`hints.${axis.param}`)}
            onChange={(event) => set({ text: event.target.value })}
            className={inputStyle}
          />
        </div>
      )}
    </div>
  );
}

interface GridAxesProps extends Omit<AxisFieldProps, "name"> {
  readonly problem: PlanProblem | null;
}

/** The columns and rows of a grid, and why their values cannot be used. */
export function GridAxes({ problem, ...axes }: GridAxesProps) {
  const t = useTranslations("create.grid");
  const textOf = useProblemText();
  const text = problem === null ? null : textOf(problem);
  return (
    <fieldset className="mx-4 flex min-w-0 flex-col gap-3 border-t border-line py-3 sm:mx-5">
      <legend className="sr-only">{t("title")}</legend>
      <AxisField name="xAxis" {...axes} />
      <AxisField name="yAxis" {...axes} />
      {text === null ? <p className="text-xs text-quiet">{t("help")}</p> : <Warning>{text}</Warning>}
    </fieldset>
  );
}

/** Null for what is said elsewhere. */
function useProblemText(): (problem: PlanProblem) => string | null {
  const t = useTranslations("create.problems");
  const g = useTranslations("create.grid");
  const l = useTranslations("create.listed");
  const ofPictures = usePictureProblemText();
  return (problem) => {
    if ("workflow" in problem) return ofPictures(problem);
    switch (problem.what) {
      case "tooMany":
        return null;
      case "tooManyStyles":
        return t("tooManyStyles", { count: problem.count, most: mostStyles });
      case "outOfRange":
        return t("outOfRange", {
          value: problem.value,
          min: problem.param.min ?? 0,
          max: problem.param.max ?? Number.MAX_SAFE_INTEGER,
        });
      case "notInPrompt":
        return problem.value === "" ? null : t("notInPrompt", { value: problem.value });
      case "unreadable":
        return t("unreadable", { value: problem.value });
      case "untaken":
        return t("untaken", { value: g(`params.${problem.value}`) });
      case "unchosen":
        return `${problem.value}: ${l("choose")}`;
    }
  };
}
