"use client";
import { useTranslations } from "next-intl";
import { type FormEvent, type ReactNode, useState } from "react";
import { Button, Kbd } from "../../ui/button.tsx";
import { Checkbox, Segmented } from "../../ui/fields.tsx";
import { NumberInput } from "../../ui/number-input.tsx";
import { Slider } from "../../ui/slider.tsx";
import type { Mark } from "../mask/marks.ts";
import { brushLimits, type EditorSession, isLast } from "../session.ts";
import { type CommandId, keysOf } from "./commands.ts";
import { useOwnKeys } from "./own-keys.ts";
import type { Selections } from "./select.tsx";

interface SessionProps {
  readonly session: EditorSession;
}

/** Keys of commands, where there is a keyboard. */
function Keys({ of: ids }: { readonly of: readonly CommandId[] }) {
  const own = useOwnKeys();
  return (
    <span className="hidden gap-1 sm:pointer-fine:inline-flex">
      {ids.map((id) => {
        const [key] = keysOf(id, own);
        return key === undefined ? null : <Kbd key={id} keys={key} />;
      })}
    </span>
  );
}

interface LabelledProps {
  readonly label: string;
  readonly keys: readonly CommandId[];
  readonly shown: string;
  readonly children: ReactNode;
}

function Labelled({ label, keys, shown, children }: LabelledProps) {
  return (
    <div className="flex flex-col gap-1">
      <div className="flex items-center justify-between text-xs">
        <span className="font-medium">{label}</span>
        <span className="tabular flex items-center gap-2 text-quiet">
          <Keys of={keys} />
          {shown}
        </span>
      </div>
      {children}
    </div>
  );
}

function BrushOptions({ session: { options, change } }: SessionProps) {
  const t = useTranslations("edit");
  const percent = Math.round(options.hardness * 100);
  return (
    <div className="flex flex-col gap-2">
      <Labelled label={t("brushSize")} keys={["smaller", "larger"]} shown={`${options.sizePx} px`}>
        <Slider
          label={t("brushSize")}
          value={options.sizePx}
          {...brushLimits}
          onChange={(sizePx) => change({ sizePx })}
        />
      </Labelled>
      <Labelled label={t("hardness")} keys={[]} shown={`${percent} %`}>
        <Slider
          label={t("hardness")}
          value={percent}
          min={0}
          max={100}
          onChange={(value) => change({ hardness: value / 100 })}
        />
      </Labelled>
      <div className="hidden any-pointer-fine:block">
        <Checkbox checked={options.usesPressure} onChange={(usesPressure) => change({ usesPressure })}>
          {t("usesPressure")}
        </Checkbox>
      </div>
    </div>
  );
}

const effects = ["add", "subtract"] as const;
const shapes = ["rectangle", "ellipse"] as const;
const clickModes = ["include", "exclude", "box"] as const;

function EffectChoice({ session: { options, change } }: SessionProps) {
  const t = useTranslations("edit");
  return (
    <Segmented
      label={t("effect")}
      value={options.effect}
      onChange={(effect) => change({ effect })}
      options={effects.map((value) => ({ value, label: t(`effects.${value}`) }))}
    />
  );
}

function AreaOptions({ session }: SessionProps) {
  const t = useTranslations("edit");
  const { tool, options, change } = session;
  return (
    <div className="flex flex-col items-start gap-2">
      {tool === "shape" ? (
        <Segmented
          label={t("shapeKind")}
          value={options.shape}
          onChange={(shape) => change({ shape })}
          options={shapes.map((value) => ({ value, label: t(`shapes.${value}`) }))}
        />
      ) : null}
      <EffectChoice session={session} />
      <p className="text-xs text-quiet">
        {t(tool === "shape" ? "shapeHint" : "lassoHint")}
        <span className="hidden sm:pointer-fine:inline"> {t("areaKeysHint")}</span>
      </p>
    </div>
  );
}

interface SelectingProps extends SessionProps {
  readonly selection: Selections;
}

const wordsId = "select-words";

/** Puts the cursor into the field for words, after a render in which it may come. */
export function focusWords(): void {
  requestAnimationFrame(() => document.getElementById(wordsId)?.focus());
}

/** Selects what words name. */
function Words({ session, selection }: SelectingProps) {
  const t = useTranslations("edit");
  const [text, setText] = useState("");
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() !== "") selection.words(text.trim());
  };
  return (
    <form onSubmit={send} className="flex w-full flex-col gap-1">
      <label htmlFor={wordsId} className="flex items-center justify-between text-xs font-medium">
        {t("selectWords")}
        <Keys of={["words"]} />
      </label>
      <div className="flex gap-2">
        <input
          id={wordsId}
          value={text}
          maxLength={200}
          placeholder={t("selectWordsHint")}
          onChange={(event) => setText(event.target.value)}
          className="h-8 min-w-0 flex-1 rounded-control border border-edge/70 bg-surface px-2 text-xs"
        />
        <Button type="submit" size="small" disabled={text.trim() === "" || selection.isPending}>
          {t("selectGo")}
        </Button>
      </div>
      <EffectChoice session={session} />
    </form>
  );
}

/** What the pointer does in a way of selecting. */
function selectHintOf({ takesBox }: Selections, clickMode: (typeof clickModes)[number]) {
  if (!takesBox) return "clickHint";
  return clickMode === "box" ? "boxHint" : "clickOrBoxHint";
}

function SelectOptions({ session, selection }: SelectingProps) {
  const t = useTranslations("edit");
  const { options, change } = session;
  return (
    <div className="flex flex-col items-start gap-2">
      {selection.can("clicks") ? (
        <>
          <Segmented
            label={t("clickMode")}
            value={options.clickMode === "box" && !selection.takesBox ? "include" : options.clickMode}
            onChange={(clickMode) => change({ clickMode })}
            options={clickModes
              .filter((value) => value !== "box" || selection.takesBox)
              .map((value) => ({ value, label: t(`clickModes.${value}`) }))}
          />
          <p className="text-xs text-quiet">{t(selectHintOf(selection, options.clickMode))}</p>
        </>
      ) : null}
      {selection.can("prompt") ? <Words session={session} selection={selection} /> : null}
    </div>
  );
}

const edges = ["grow", "shrink", "feather"] as const;
const edgeLimits = { min: 1, max: 500 } as const;

/** What is done with the whole mask. */
function MaskActions({ session, selection }: SessionProps & { readonly selection: Selections | null }) {
  const t = useTranslations("edit");
  const { options, change, history, step } = session;
  const { edgePx } = options;
  const add = (mark: Mark) => step({ type: "add", mark });
  const isEmpty = isLast(history.marks, "none");
  return (
    <div className="flex flex-col gap-2">
      <div className="-mx-2.5 flex flex-wrap">
        {selection?.can("subject") === true ? (
          <Button look="quiet" size="small" disabled={selection.isPending} onClick={selection.subject}>
            {t("selectSubject")}
          </Button>
        ) : null}
        <Button look="quiet" size="small" onClick={() => add({ mode: "invert" })}>
          {t("invert")}
        </Button>
        <Button
          look="quiet"
          size="small"
          disabled={isLast(history.marks, "all")}
          onClick={() => add({ mode: "all" })}
        >
          {t("selectAll")}
        </Button>
        <Button look="quiet" size="small" disabled={isEmpty} onClick={() => add({ mode: "none" })}>
          {t("clearMask")}
        </Button>
      </div>
      <div className="flex flex-wrap items-center gap-1 text-xs">
        <span className="w-14 shrink-0">
          <NumberInput
            label={t("edgePx")}
            value={edgePx}
            className="h-8! px-2!"
            onChange={(value) =>
              change({ edgePx: Math.round(Math.min(edgeLimits.max, Math.max(edgeLimits.min, value))) })
            }
          />
        </span>
        <span className="text-quiet">px</span>
        {edges.map((mode) => (
          <Button
            key={mode}
            look="quiet"
            size="small"
            className="px-2"
            disabled={isEmpty}
            onClick={() => add({ mode, px: edgePx })}
          >
            {t(`edges.${mode}`)}
          </Button>
        ))}
      </div>
    </div>
  );
}

interface ToolOptionsProps extends SessionProps {
  readonly selection?: Selections | null;
}

/** The options of the tool, and what can be done with the mask. */
export function ToolPanel({ session, selection = null }: ToolOptionsProps) {
  const t = useTranslations("edit");
  const { tool } = session;
  return (
    <section aria-labelledby="tool-options" className="flex flex-col gap-3">
      <h2 id="tool-options" className="text-xs font-medium text-quiet">
        {t(`toolNames.${tool}`)}
      </h2>
      {tool === "brush" || tool === "eraser" ? <BrushOptions session={session} /> : null}
      {tool === "lasso" || tool === "shape" ? <AreaOptions session={session} /> : null}
      {tool === "select" && selection !== null ? (
        <SelectOptions session={session} selection={selection} />
      ) : null}
      <MaskActions session={session} selection={selection} />
    </section>
  );
}
