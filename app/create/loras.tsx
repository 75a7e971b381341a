"use client";
import { Plus, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { OfferedWorkflow } from "../client/queries.ts";
import { Warning } from "../jobs/offer-line.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { NumberInput } from "../ui/number-input.tsx";
import { Slider } from "../ui/slider.tsx";
import { createForm, useForm } from "./form.ts";
import { ListDialog, shownName, useListed } from "./listed.tsx";
import { type Lora, loraWeight, mostLoras, readLoras } from "../jobs/params.ts";
import { useReplacedToast } from "./prompt-field.ts";
import { lorasIn } from "./prompt-marks.ts";

/** The LoRAs among them. */
const useLoras = (workflow: string | null) => useListed(workflow)?.loras;

function setWeight(name: string, weight: number): void {
  const { loras } = createForm.get();
  const allowed = Math.max(loraWeight.min, Math.min(loraWeight.max, Number(weight.toFixed(2))));
  createForm.set({ loras: loras.map((one) => (one.name === name ? { name, weight: allowed } : one)) });
}

function Chosen({ lora: { name, weight } }: { readonly lora: Lora }) {
  const t = useTranslations("create.loras");
  const label = t("weight", { name: shownName(name) });
  const remove = () => createForm.set({ loras: createForm.get().loras.filter((one) => one.name !== name) });
  return (
    <li className="flex flex-col">
      <div className="flex items-center gap-1">
        <span title={name} className="min-w-0 flex-1 truncate text-xs">
          {shownName(name)}
        </span>
        <NumberInput
          label={label}
          value={weight}
          onChange={(next) => setWeight(name, next)}
          className="h-7! w-14! px-2! text-end text-xs!"
        />
        <IconButton label={t("remove", { name: shownName(name) })} onClick={remove} className="-me-2">
          <X aria-hidden />
        </IconButton>
      </div>
      <Slider
        label={label}
        value={weight}
        min={-2}
        max={2}
        step={0.05}
        origin={0}
        onChange={(next) => setWeight(name, next)}
      />
    </li>
  );
}

/** The LoRAs of the next pictures with their weights; empty where the workflow takes none. */
export function LoraChoice({ workflow }: { readonly workflow: OfferedWorkflow }) {
  const t = useTranslations("create.loras");
  const { loras } = useForm();
  const [isOpen, setOpen] = useState(false);
  const takes = workflow.params.loras !== undefined;
  const known = useLoras(takes ? workflow.name : null);
  if (!takes || known === undefined || (known.length === 0 && loras.length === 0)) return null;
  return (
    <section aria-label={t("title")} className="flex flex-col gap-1.5">
      <div className="flex h-9 items-center justify-between gap-2">
        <span className="text-xs font-medium">{t("title")}</span>
        <Button size="small" disabled={loras.length >= mostLoras} onClick={() => setOpen(true)}>
          <Plus aria-hidden />
          {t("add")}
        </Button>
      </div>
      {loras.length === 0 ? null : (
        <ul className="flex flex-col gap-1">
          {loras.map((lora) => (
            <Chosen key={lora.name} lora={lora} />
          ))}
        </ul>
      )}
      <ListDialog
        isOpen={isOpen}
        setOpen={setOpen}
        title={t("choose")}
        none={t("none")}
        known={known.filter((name) => loras.every((one) => one.name !== name))}
        onPick={(name) => createForm.set({ loras: [...loras, { name, weight: 1 }] })}
      />
    </section>
  );
}

/** What stands in the prompt as other programs write LoRAs: it does nothing there, and goes to where they are chosen. */
export function LorasInPrompt({ workflow }: { readonly workflow: OfferedWorkflow }) {
  const t = useTranslations("create.loras");
  const { prompt, loras } = useForm();
  const sayReplaced = useReplacedToast();
  const written = lorasIn(prompt);
  const takes = workflow.params.loras !== undefined && written.length > 0;
  const known = useLoras(takes ? workflow.name : null) ?? [];
  if (written.length === 0) return null;
  const stemOf = (name: string) => shownName(name).toLowerCase();
  const found = written.flatMap(({ name, ...one }) => {
    const file = known.find((lora) => stemOf(lora) === stemOf(name));
    return file === undefined ? [] : [{ ...one, file }];
  });
  const move = () => {
    const named = new Map(loras.map(({ name, weight }) => [name, weight]));
    const moved = found.filter(({ file, weight }) => {
      const [fits] = readLoras([{ name: file, weight }]);
      if (!fits || (!named.has(file) && named.size >= mostLoras)) return false;
      named.set(file, weight);
      return true;
    });
    const rest = moved.reduce((text, { whole }) => text.replaceAll(whole, ""), prompt);
    createForm.set({
      loras: [...named].map(([name, weight]) => ({ name, weight })),
      prompt: rest.replaceAll(/ {2,}/g, " ").trim(),
    });
    sayReplaced({ prompt, loras });
  };
  return (
    <div role="status" className="flex flex-wrap items-center gap-x-3 gap-y-1.5 px-4 pb-3 sm:px-5">
      <Warning>{t("inPrompt", { names: written.map(({ whole }) => whole).join(", ") })}</Warning>
      {found.length === 0 ? null : (
        <Button size="small" onClick={move}>
          {t("moveThere")}
        </Button>
      )}
    </div>
  );
}
