"use client";
import { useTranslations } from "next-intl";
import type { OfferedWorkflow } from "../client/queries.ts";
import { ChoiceGrid } from "../ui/choice-grid.tsx";
import { NumberInput } from "../ui/number-input.tsx";
import { type Aspect, aspects, createForm, useForm } from "./form.ts";
import { ratioOf, chosenSize } from "./requests.ts";

const maxEdgePx = 18;

/** Icon: a small frame with the aspect's proportions. */
function AspectIcon({ aspect }: { readonly aspect: Aspect }) {
  const ratio = ratioOf(aspect);
  const width = ratio >= 1 ? maxEdgePx : maxEdgePx * ratio;
  return (
    <span aria-hidden className="flex size-5 items-center justify-center">
      <span
        className="rounded-[2px] border-[1.5px] border-current"
        style={{ width, height: ratio >= 1 ? maxEdgePx / ratio : maxEdgePx }}
      />
    </span>
  );
}

interface LengthFieldProps {
  readonly label: string;
  /** Text after the field: `px`, or the sign between width and height. */
  readonly suffix: string;
  readonly value: number;
  readonly onChange: (px: number) => void;
}

function LengthField({ label, suffix, value, onChange }: LengthFieldProps) {
  return (
    <>
      <NumberInput
        label={label}
        value={value}
        onChange={(px) => onChange(Math.round(px))}
        className="h-9! min-w-0 text-xs!"
      />
      <span aria-hidden className="text-xs text-quiet">
        {suffix}
      </span>
    </>
  );
}

/** The aspect by a click, or width and height as numbers; empty when the workflow takes no size. */
export function SizeChoice({ workflow }: { readonly workflow: OfferedWorkflow }) {
  const t = useTranslations("create");
  const form = useForm();
  const size = chosenSize(form, workflow);
  if (size === null) return null;
  const setLength = (changes: { readonly widthPx?: number; readonly heightPx?: number }) => {
    const typed = { aspect: null, widthPx: size.width, heightPx: size.height, ...changes };
    const allowed = chosenSize(typed, workflow) ?? size;
    createForm.set({ aspect: null, widthPx: allowed.width, heightPx: allowed.height });
  };
  return (
    <div className="flex flex-col gap-2">
      <span aria-hidden className="text-xs font-medium">
        {t("size")}
      </span>
      <ChoiceGrid
        label={t("size")}
        value={form.aspect}
        options={aspects.map((aspect) => ({
          value: aspect,
          label: (
            <>
              <AspectIcon aspect={aspect} />
              {aspect}
            </>
          ),
        }))}
        className="grid-cols-7"
        optionClassName="h-14 flex-col gap-1"
        onChange={(aspect) => createForm.set({ aspect })}
      />
      <div className="flex items-center gap-2">
        <LengthField
          label={t("width")}
          suffix="×"
          value={size.width}
          onChange={(widthPx) => setLength({ widthPx })}
        />
        <LengthField
          label={t("height")}
          suffix="px"
          value={size.height}
          onChange={(heightPx) => setLength({ heightPx })}
        />
      </div>
    </div>
  );
}
